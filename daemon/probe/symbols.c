/* SPDX-License-Identifier: MIT */
/*
 * Whoever owns the process made its files: they may hold anything. So a child reads them, which
 * has given up its capabilities, may use little memory and time, and answers with numbers only.
 * What it says was looked for; a wrong number harms the process that it is about.
 *
 * Files are opened in the process's own root, and only where they are what is mapped: a library
 * that was replaced on disk is another file by now.
 */
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES_MAX   512u
#define TABLE_BYTES (UINT64_C(256) << 20) /* of one symbol table or its names */
#if defined(__SANITIZE_ADDRESS__)
#define CHILD_BYTES RLIM_INFINITY /* the sanitizer takes all that there is */
#else
#define CHILD_BYTES (UINT64_C(1) << 30)
#endif
#define CHILD_SECONDS 5

/* ---- the child ---- */

static void give_up_rights(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	const struct rlimit memory = {CHILD_BYTES, CHILD_BYTES}, nothing = {0, 0};
	const struct rlimit seconds = {CHILD_SECONDS, CHILD_SECONDS};

	if (syscall(SYS_capset, &head, none) < 0 || setrlimit(RLIMIT_AS, &memory) < 0 ||
	    setrlimit(RLIMIT_CPU, &seconds) < 0 || setrlimit(RLIMIT_CORE, &nothing) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &nothing) < 0)
		_exit(1);
}

/* Where in the file the byte at an address lies. */
static bool file_offset(Elf *elf, uint64_t address, uint64_t *ret_offset)
{
	size_t count, i;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		*ret_offset = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

static int function_of(const char *name)
{
	int i;

	for (i = 0; i < PRESENT_FUNCTIONS; i++)
		if (strcmp(name, present_functions[i].name) == 0)
			return i;
	return strcmp(name, "vk_icdGetInstanceProcAddr") == 0 ? SYMBOLS_DRIVER : -1;
}

static void tell(int to, struct symbols_point *point)
{
	if (write(to, point, sizeof(*point)) != sizeof(*point))
		_exit(1);
}

static void look_into_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, int fd, int to)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0, i;
	struct symbols_point point = {.fd = fd};
	const char *name;
	GElf_Sym symbol;
	int function;

	for (i = 0; i < count && i < INT32_MAX; i++) {
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		function = name ? function_of(name) : -1;
		if (function < 0 || !file_offset(elf, symbol.st_value, &point.offset))
			continue;
		point.function = (uint32_t)function;
		tell(to, &point);
	}
}

static bool is_small(Elf *elf, const GElf_Shdr *head)
{
	Elf_Scn *names = elf_getscn(elf, head->sh_link);
	GElf_Shdr linked;

	return head->sh_size <= TABLE_BYTES && names && gelf_getshdr(names, &linked) &&
	       linked.sh_size <= TABLE_BYTES;
}

static void look_into(int fd, int to)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while (elf && elf_kind(elf) == ELF_K_ELF && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &head) &&
		    (head.sh_type == SHT_DYNSYM || head.sh_type == SHT_SYMTAB) &&
		    is_small(elf, &head))
			look_into_table(elf, section, &head, fd, to);
	elf_end(elf);
}

static void look(const struct symbols *s, int to)
{
	size_t i;

	give_up_rights();
	elf_version(EV_CURRENT);
	for (i = 0; i < s->fd_count; i++)
		look_into(s->fds[i], to);
	_exit(0);
}

/* ---- the parent ---- */

static bool is_ours(const struct symbols *s, int fd)
{
	size_t i;

	for (i = 0; i < s->fd_count; i++)
		if (s->fds[i] == fd)
			return true;
	return false;
}

/* A function that two tables or two names have is one. */
static bool is_known(const struct symbols *s, const struct symbols_point *point)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->points[i].fd == point->fd && s->points[i].offset == point->offset)
			return true;
	return false;
}

static void take_points(struct symbols *s, int from)
{
	struct symbols_point point;

	while (s->count < SYMBOLS_POINTS_MAX && read(from, &point, sizeof(point)) == sizeof(point))
		if (is_ours(s, point.fd) && point.function <= SYMBOLS_DRIVER &&
		    !is_known(s, &point))
			s->points[s->count++] = point;
}

static int ask_child(struct symbols *s)
{
	int ends[2], r = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		look(s, ends[1]);
	if (child < 0)
		r = -errno;
	close(ends[1]);
	if (child > 0)
		take_points(s, ends[0]);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return r;
}

/* The file of a line of maps: opened in the process's root, if it is what is mapped. */
static int open_mapped(int process, const char *path, uint64_t inode)
{
	char inside[4096 + 8];
	struct stat st;
	int fd;

	snprintf(inside, sizeof(inside), "root%s", path);
	fd = openat(process, inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* A line of maps. */
struct mapped {
	uint64_t start, end;
	struct symbols_place place; /* of start */
	char line[4096 + 128];
	const char *path;
};

/* The next one that is code of a file. */
static bool next_mapped(FILE *maps, struct mapped *m)
{
	struct symbols_place *p = &m->place;
	char perms[5];
	int path = 0;

	while (fgets(m->line, sizeof(m->line), maps)) {
		m->line[strcspn(m->line, "\n")] = '\0';
		if (sscanf(m->line,
			   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
			   " %" SCNu64 " %n",
			   &m->start, &m->end, perms, &p->offset, &p->major, &p->minor, &p->inode,
			   &path) < 7)
			continue;
		m->path = m->line + path;
		if (strchr(perms, 'x') && *m->path == '/')
			return true;
	}
	return false;
}

static bool is_same_file(const struct symbols_place *a, const struct symbols_place *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

static bool seen(const struct symbols_place *files, size_t count, const struct symbols_place *file)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (is_same_file(&files[i], file))
			return true;
	return false;
}

static void open_files(FILE *maps, int process, struct symbols *s)
{
	struct symbols_place files[FILES_MAX];
	size_t count = 0;
	struct mapped m;
	int fd;

	while (count < FILES_MAX && next_mapped(maps, &m)) {
		if (seen(files, count, &m.place))
			continue;
		files[count++] = m.place;
		fd = open_mapped(process, m.path, m.place.inode);
		if (fd >= 0)
			s->fds[s->fd_count++] = fd;
		else
			s->unread++;
	}
}

static int open_maps(int process, FILE **ret_maps)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_maps = fdopen(fd, "r");
	if (*ret_maps)
		return 0;
	close(fd);
	return -ENOMEM;
}

int symbols_find(int process, struct symbols *ret_symbols)
{
	struct symbols *s = ret_symbols;
	FILE *maps;
	int r;

	*s = (struct symbols){0};
	r = open_maps(process, &maps);
	if (r < 0)
		return r;
	s->fds = calloc(FILES_MAX, sizeof(*s->fds));
	if (s->fds)
		open_files(maps, process, s);
	else
		r = -ENOMEM;
	fclose(maps);
	return r == 0 ? ask_child(s) : r;
}

int symbols_open(int process, const struct symbols_place *place, int *ret_fd)
{
	struct mapped m;
	FILE *maps;
	int r = open_maps(process, &maps), fd = -ENOENT;

	if (r < 0)
		return r;
	while (fd < 0 && next_mapped(maps, &m))
		if (is_same_file(&m.place, place) && place->offset >= m.place.offset &&
		    place->offset - m.place.offset < m.end - m.start)
			fd = open_mapped(process, m.path, place->inode);
	fclose(maps);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

void symbols_deinit(struct symbols *symbols)
{
	size_t i;

	for (i = 0; i < symbols->fd_count; i++)
		close(symbols->fds[i]);
	free(symbols->fds);
	*symbols = (struct symbols){0};
}
