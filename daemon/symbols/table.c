// SPDX-License-Identifier: MIT
/*
 * Symbols are addresses in memory; samples are places in the file: the file's own segments turn one
 * into the other. Where code has no symbol, the search table of .eh_frame_hdr still says where
 * functions begin, also in stripped files.
 *
 * Of several symbols of one address the global one is taken, then that with the fewest underscores
 * in front, then the shortest.
 */
#include "table.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 64u
#define TABLE_BYTES  (UINT64_C(512) << 20) /* of one symbol table or its names */
#define SYMBOLS_MAX  (UINT32_C(8) << 20)
#define FRAMES_MAX   (UINT32_C(4) << 20)
#define BACK_MAX     32u /* symbols that may begin within another */

struct segment {
	uint64_t address, offset, bytes;
};

struct entry {
	uint64_t lo;
	uint32_t bytes; /* 0: not said */
	uint32_t name;
	uint8_t rank; /* of its binding */
};

struct symbol_table {
	int fd, names_fd;
	Elf *elf, *names; /* names: the file whose symbols they are, the same or another */
	size_t strings;	  /* section of names */
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
	struct entry *entries; /* by lo; one each */
	size_t count;
	uint64_t *frames; /* where functions begin, as unwind tables say */
	size_t frame_count;
	enum symbols_source source;
	char build_id[SYMBOLS_BUILD_ID + 1];
};

/* ---- segments ---- */

static void read_segments(struct symbol_table *t)
{
	size_t count, i;
	GElf_Phdr p;

	if (elf_getphdrnum(t->elf, &count) < 0)
		return;
	for (i = 0; i < count && i < INT32_MAX && t->segment_count < SEGMENTS_MAX; i++)
		if (gelf_getphdr(t->elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X)
			t->segments[t->segment_count++] =
				(struct segment){p.p_vaddr, p.p_offset, p.p_filesz};
}

static bool to_offset(const struct symbol_table *t, uint64_t address, uint64_t *ret_offset)
{
	const struct segment *s;
	size_t i;

	for (i = 0; i < t->segment_count; i++) {
		s = &t->segments[i];
		if (address >= s->address && address - s->address < s->bytes) {
			*ret_offset = address - s->address + s->offset;
			return *ret_offset < INT64_MAX;
		}
	}
	return false;
}

/* ---- build id ---- */

static void put_hex(char *text, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < count && 2 * i + 1 < SYMBOLS_BUILD_ID; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

static bool find_note(Elf_Data *data, char *build_id)
{
	size_t at = 0, name, description;
	GElf_Nhdr note;

	while ((at = gelf_getnote(data, at, &note, &name, &description)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
			continue;
		put_hex(build_id, (uint8_t *)data->d_buf + description, note.n_descsz);
		return true;
	}
	return false;
}

static void read_build_id(Elf *elf, char *build_id)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr head;

	*build_id = '\0';
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_NOTE ||
		    head.sh_size > 65536)
			continue;
		data = elf_getdata(section, NULL);
		if (data && find_note(data, build_id))
			return;
	}
}

/* ---- symbols ---- */

static bool is_function(const GElf_Sym *s)
{
	int type = GELF_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static uint8_t rank_of(const GElf_Sym *s)
{
	int bind = GELF_ST_BIND(s->st_info);

	return bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
}

static void take_symbol(struct symbol_table *t, const GElf_Sym *s)
{
	struct entry *e = &t->entries[t->count];

	if (!is_function(s) || s->st_name == 0 || !to_offset(t, s->st_value, &e->lo))
		return;
	e->bytes = s->st_size < UINT32_MAX ? (uint32_t)s->st_size : UINT32_MAX;
	e->name = s->st_name;
	e->rank = rank_of(s);
	t->count++;
}

static int compare_names(const char *a, const char *b)
{
	size_t x = strspn(a, "_"), y = strspn(b, "_"), m = strlen(a), n = strlen(b);

	if (x != y)
		return x < y ? -1 : 1;
	return m != n ? (m < n ? -1 : 1) : strcmp(a, b);
}

static int compare(const void *a, const void *b, void *userdata)
{
	const struct symbol_table *t = userdata;
	const struct entry *x = a, *y = b;
	const char *m, *n;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	m = elf_strptr(t->names, t->strings, x->name);
	n = elf_strptr(t->names, t->strings, y->name);
	return m && n ? compare_names(m, n) : (n != NULL) - (m != NULL);
}

/* One a place. */
static void sort(struct symbol_table *t)
{
	size_t i, kept = 0;

	qsort_r(t->entries, t->count, sizeof(*t->entries), compare, t);
	for (i = 0; i < t->count; i++)
		if (kept == 0 || t->entries[kept - 1].lo != t->entries[i].lo)
			t->entries[kept++] = t->entries[i];
	t->count = kept;
}

static bool is_small(Elf *elf, const GElf_Shdr *head)
{
	Elf_Scn *strings = elf_getscn(elf, head->sh_link);
	GElf_Shdr linked;

	return head->sh_size <= TABLE_BYTES && strings && gelf_getshdr(strings, &linked) &&
	       linked.sh_type == SHT_STRTAB && linked.sh_size <= TABLE_BYTES;
}

/* The functions of a section of symbols; what was there before goes. */
static int read_section(struct symbol_table *t, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0, i;
	GElf_Sym symbol;

	if (count > SYMBOLS_MAX)
		count = SYMBOLS_MAX;
	free(t->entries);
	t->count = 0;
	t->entries = calloc(count + 1, sizeof(*t->entries));
	if (!t->entries)
		return -ENOMEM;
	t->names = elf;
	t->strings = head->sh_link;
	for (i = 0; i < count; i++)
		if (gelf_getsym(data, (int)i, &symbol))
			take_symbol(t, &symbol);
	sort(t);
	return t->count > 0 ? 0 : -ENODATA;
}

static int read_symbols(struct symbol_table *t, Elf *elf, GElf_Word type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &head) && head.sh_type == type && is_small(elf, &head))
			return read_section(t, elf, section, &head);
	return -ENODATA;
}

/* ---- where functions begin, without symbols ---- */

#define EH_FRAME_HDR_HEAD 12u
#define POINTER_SDATA4	  0x1b /* DW_EH_PE_pcrel | sdata4 */
#define COUNT_UDATA4	  0x03
#define TABLE_SDATA4	  0x3b /* DW_EH_PE_datarel | sdata4 */

struct frame_entry {
	int32_t begin, description;
};

static void take_frames(struct symbol_table *t, const GElf_Phdr *p, const struct frame_entry *all,
			size_t count)
{
	size_t i;
	uint64_t lo;

	for (i = 0; i < count; i++) {
		if (!to_offset(t, p->p_vaddr + (uint64_t)(int64_t)all[i].begin, &lo))
			continue;
		if (t->frame_count == 0 || lo > t->frames[t->frame_count - 1])
			t->frames[t->frame_count++] = lo;
	}
}

static void read_frames_at(struct symbol_table *t, const GElf_Phdr *p)
{
	uint8_t head[EH_FRAME_HDR_HEAD];
	struct frame_entry *all;
	uint32_t count;
	ssize_t n;

	if (pread(t->fd, head, sizeof(head), (off_t)p->p_offset) != sizeof(head) || head[0] != 1 ||
	    head[1] != POINTER_SDATA4 || head[2] != COUNT_UDATA4 || head[3] != TABLE_SDATA4)
		return;
	memcpy(&count, head + 8, sizeof(count));
	if (count > FRAMES_MAX || count > p->p_filesz / sizeof(*all))
		return;
	all = malloc(count * sizeof(*all) + 1);
	t->frames = malloc(count * sizeof(*t->frames) + 1);
	n = all && t->frames
		    ? pread(t->fd, all, count * sizeof(*all), (off_t)(p->p_offset + sizeof(head)))
		    : 0;
	if (n > 0)
		take_frames(t, p, all, (size_t)n / sizeof(*all));
	free(all);
}

static void read_frames(struct symbol_table *t)
{
	size_t count, i;
	GElf_Phdr p;

	if (elf_getphdrnum(t->elf, &count) < 0)
		return;
	for (i = 0; i < count && i < INT32_MAX && !t->frames; i++)
		if (gelf_getphdr(t->elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME &&
		    p.p_offset < INT64_MAX / 2)
			read_frames_at(t, &p);
}

/* ---- for others ---- */

static int read_file(struct symbol_table *t)
{
	int r;

	elf_version(EV_CURRENT);
	t->elf = elf_begin(t->fd, ELF_C_READ, NULL);
	if (!t->elf || elf_kind(t->elf) != ELF_K_ELF)
		return -ENOEXEC;
	read_segments(t);
	read_build_id(t->elf, t->build_id);
	read_frames(t);
	t->source = SYMBOLS_SYMTAB;
	r = read_symbols(t, t->elf, SHT_SYMTAB);
	if (r == -ENODATA) {
		t->source = SYMBOLS_DYNSYM;
		r = read_symbols(t, t->elf, SHT_DYNSYM);
	}
	if (r == -ENODATA)
		t->source = SYMBOLS_NONE;
	return r == -ENODATA ? 0 : r;
}

int symbol_table_new(int fd, struct symbol_table **ret_table)
{
	struct symbol_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t) {
		close(fd);
		return -ENOMEM;
	}
	t->fd = fd;
	t->names_fd = -1;
	r = read_file(t);
	if (r < 0)
		symbol_table_free(t);
	else
		*ret_table = t;
	return r;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	if (table->names != table->elf)
		elf_end(table->names);
	elf_end(table->elf);
	close(table->fd);
	if (table->names_fd >= 0)
		close(table->names_fd);
	free(table->entries);
	free(table->frames);
	free(table);
}

int symbol_table_add(struct symbol_table *table, int fd)
{
	Elf *elf = table->names_fd < 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	char build_id[SYMBOLS_BUILD_ID + 1] = "";
	int r = -ESTALE;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		read_build_id(elf, build_id);
	if (*build_id && strcmp(build_id, table->build_id) == 0)
		r = read_symbols(table, elf, SHT_SYMTAB);
	if (r == -ESTALE || table->names != elf) {
		elf_end(elf);
		close(fd);
		return r;
	}
	table->names_fd = fd;
	table->source = SYMBOLS_OTHER_FILE;
	return r;
}

enum symbols_source symbol_table_source(const struct symbol_table *table)
{
	return table->source;
}

const char *symbol_table_build_id(const struct symbol_table *table)
{
	return table->build_id;
}

/* How many symbols begin at or before it. */
static size_t symbols_before(const struct symbol_table *t, uint64_t offset)
{
	size_t low = 0, high = t->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (t->entries[middle].lo <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t frames_before(const struct symbol_table *t, uint64_t offset)
{
	size_t low = 0, high = t->frame_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (t->frames[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One that does not say how long it is reaches to the next one. */
static uint64_t end_of(const struct symbol_table *t, size_t i)
{
	uint64_t lo = t->entries[i].lo, end = i + 1 < t->count ? t->entries[i + 1].lo : lo + 1;
	size_t frames;

	if (t->entries[i].bytes)
		return lo + t->entries[i].bytes;
	frames = frames_before(t, lo);
	return frames < t->frame_count && t->frames[frames] < end ? t->frames[frames] : end;
}

/* Nobody's: as far as symbols leave it free, and unwind tables say that it is one function. */
static void find_free(const struct symbol_table *t, uint64_t offset, size_t before,
		      struct symbol *found)
{
	size_t frames = frames_before(t, offset);

	found->lo = before > 0 ? end_of(t, before - 1) : 0;
	if (found->lo > offset)
		found->lo = offset;
	found->hi = before < t->count ? t->entries[before].lo : INT64_MAX;
	if (frames > 0 && t->frames[frames - 1] > found->lo)
		found->lo = t->frames[frames - 1];
	if (frames < t->frame_count && t->frames[frames] < found->hi)
		found->hi = t->frames[frames];
}

void symbol_table_find(const struct symbol_table *table, uint64_t offset, struct symbol *ret_symbol)
{
	size_t before = symbols_before(table, offset), i;

	*ret_symbol = (struct symbol){0, INT64_MAX, NULL};
	for (i = before; i > 0 && before - i < BACK_MAX; i--) {
		if (offset >= end_of(table, i - 1))
			continue;
		ret_symbol->lo = table->entries[i - 1].lo;
		ret_symbol->hi = end_of(table, i - 1);
		ret_symbol->name =
			elf_strptr(table->names, table->strings, table->entries[i - 1].name);
		return;
	}
	find_free(table, offset, before, ret_symbol);
}
