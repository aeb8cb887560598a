/* SPDX-License-Identifier: MIT */
/* Finding a function in the loaded objects without the dynamic linker's help. */
#ifndef FPROF_PRELOAD_ELF_H
#define FPROF_PRELOAD_ELF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The address of the function `name` in the first loaded object that defines it, this library left
 * out; 0: none does. Sees objects that were loaded RTLD_LOCAL too. Any thread; takes the loader's
 * lock.
 */
uintptr_t elf_find(const char *name);

/*
 * The same, in the first object whose file name begins with `object` ("libc.so"). Calls nothing
 * outside this library, so it works before a sanitizer's interceptors are set up; takes no lock, so
 * nobody may be loading or unloading meanwhile.
 */
uintptr_t elf_find_early(const char *name, const char *object);

/* strcmp() == 0, by no library that somebody may stand in front of. */
bool elf_text_equal(const char *a, const char *b);

#endif
