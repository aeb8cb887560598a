// SPDX-License-Identifier: MIT
/*
 * The dynamic linker answers only what the asker may see. The hook needs more: the real dlsym
 * although it defines that name itself, and the real SDL_GL_SwapWindow of an engine that was loaded
 * RTLD_LOCAL. So this reads the dynamic symbol tables of the loaded objects, by their hash tables,
 * as the linker does.
 *
 * The first dlsym of a game may be its sanitizer's, which is just about to look for the real
 * strcmp: what is called here must not be anybody's interceptor. Owns nothing, allocates nothing,
 * and imports nothing that glibc 2.28 lacks.
 */
#include "elf.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>

/* The tables of one object. */
struct elf_object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash; /* NULL: none */
	const uint32_t *sysv_hash;
};

struct elf_query {
	const char *name;
	uintptr_t result;
};

bool elf_text_equal(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

/* The linker relocates these addresses in place, except in the vDSO. */
static const void *elf_pointer(uintptr_t base, ElfW(Addr) address)
{
	return (const void *)(address < base ? base + address : address);
}

static void elf_tables(uintptr_t base, const ElfW(Dyn) * dynamic, struct elf_object *ret_object)
{
	struct elf_object object = {.base = base};

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *p = elf_pointer(base, dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			object.symbols = p;
		else if (dynamic->d_tag == DT_STRTAB)
			object.strings = p;
		else if (dynamic->d_tag == DT_GNU_HASH)
			object.gnu_hash = p;
		else if (dynamic->d_tag == DT_HASH)
			object.sysv_hash = p;
	}
	*ret_object = object;
}

static uintptr_t elf_match(const struct elf_object *object, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &object->symbols[index];
	/* the macros for both word sizes are the same */
	bool function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;

	if (!function || symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
		return 0;
	if (!elf_text_equal(object->strings + symbol->st_name, name))
		return 0;
	return object->base + symbol->st_value;
}

static uintptr_t elf_lookup_gnu(const struct elf_object *object, const char *name)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t buckets = table[0], first = table[1], bloom_words = table[2];
	const uint32_t *bucket =
		table + 4 + (size_t)bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381, i;
	const char *c;
	uintptr_t found;

	for (c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	i = buckets ? bucket[hash % buckets] : 0;
	if (i < first || i == 0)
		return 0;
	for (;; i++) {
		if ((chain[i - first] | 1) == (hash | 1)) {
			found = elf_match(object, i, name);
			if (found)
				return found;
		}
		if (chain[i - first] & 1)
			return 0;
	}
}

static uintptr_t elf_lookup_sysv(const struct elf_object *object, const char *name)
{
	const uint32_t *table = object->sysv_hash;
	uint32_t buckets = table[0], hash = 0, i;
	const char *c;
	uintptr_t found;

	for (c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		hash = (hash ^ ((hash & 0xf0000000u) >> 24)) & 0x0fffffffu;
	}
	for (i = buckets ? table[2 + hash % buckets] : 0; i; i = table[2 + buckets + i]) {
		found = elf_match(object, i, name);
		if (found)
			return found;
	}
	return 0;
}

static uintptr_t elf_lookup(uintptr_t base, const ElfW(Dyn) * dynamic, const char *name)
{
	struct elf_object object;

	if (!dynamic || dynamic == _DYNAMIC) /* this library's own */
		return 0;
	elf_tables(base, dynamic, &object);
	if (!object.symbols || !object.strings)
		return 0;
	if (object.gnu_hash)
		return elf_lookup_gnu(&object, name);
	return object.sysv_hash ? elf_lookup_sysv(&object, name) : 0;
}

static int elf_visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct elf_query *query = data;
	const ElfW(Dyn) *dynamic = NULL;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	}
	query->result = elf_lookup(info->dlpi_addr, dynamic, query->name);
	return query->result != 0;
}

uintptr_t elf_find(const char *name)
{
	struct elf_query query = {.name = name};

	dl_iterate_phdr(elf_visit, &query);
	return query.result;
}

/* Does the file name in path begin so? */
static bool elf_is_named(const char *path, const char *beginning)
{
	const char *file = path;

	for (; *path; path++) {
		if (*path == '/')
			file = path + 1;
	}
	for (; *beginning && *file == *beginning; file++, beginning++)
		;
	return !*beginning;
}

uintptr_t elf_find_early(const char *name, const char *object)
{
	const struct link_map *map;

	for (map = _r_debug.r_map; map; map = map->l_next) {
		uintptr_t found;

		if (!map->l_name || !elf_is_named(map->l_name, object))
			continue;
		found = elf_lookup(map->l_addr, map->l_ld, name);
		if (found)
			return found;
	}
	return 0;
}
