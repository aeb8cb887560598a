// SPDX-License-Identifier: MIT
/*
 * ELF header -> program headers -> PT_NOTE segments -> the note called "GNU" of type 3. The file is
 * a game's: every offset and count in it is bounded before it is used.
 */
#include "build_id.h"

#include "util.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SEGMENTS_MAX 128
#define NOTES_BYTES  8192
#define ID_BYTES_MAX 64

static int read_at(int fd, void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n;

	if (offset > INT64_MAX - bytes)
		return -EIO;
	n = pread(fd, buf, bytes, (off_t)offset);
	return n == (ssize_t)bytes ? 0 : -EIO;
}

static size_t align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static int to_hex(const uint8_t *bytes, size_t count, char *hex, size_t size)
{
	size_t i;

	if (count == 0 || count > ID_BYTES_MAX || size < 2 * count + 1)
		return -ENOENT;
	for (i = 0; i < count; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int find_note(const uint8_t *notes, size_t bytes, char *hex, size_t size)
{
	Elf64_Nhdr note;
	size_t at = 0, name, data;

	while (bytes - at >= sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > bytes || note.n_descsz > bytes)
			break;
		data = name + align4(note.n_namesz);
		if (data > bytes || note.n_descsz > bytes - data)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp(notes + name, "GNU", sizeof("GNU")) == 0)
			return to_hex(notes + data, note.n_descsz, hex, size);
		at = data + align4(note.n_descsz);
		if (at > bytes)
			break;
	}
	return -ENOENT;
}

static bool is_elf64(const Elf64_Ehdr *header)
{
	const uint16_t one = 1;
	uint8_t native = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;

	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == native &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

int build_id_read(int fd, char *ret_hex, size_t size)
{
	uint8_t notes[NOTES_BYTES];
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	unsigned i;
	int r;

	if (read_at(fd, &header, sizeof(header), 0) < 0 || !is_elf64(&header))
		return -ENOEXEC;
	for (i = 0; i < MIN(header.e_phnum, SEGMENTS_MAX); i++) {
		r = read_at(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment));
		if (r < 0)
			return r;
		if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof(notes) ||
		    read_at(fd, notes, segment.p_filesz, segment.p_offset) < 0)
			continue;
		if (find_note(notes, segment.p_filesz, ret_hex, size) == 0)
			return 0;
	}
	return -ENOENT;
}
