/* SPDX-License-Identifier: MIT */
/* Finding a function in the loaded objects without the dynamic linker's help. */
#ifndef FPROF_PRELOAD_ELF_H
#define FPROF_PRELOAD_ELF_H

#include <stdint.h>

/*
 * The address of the function `name` in the first loaded object that defines it, this library left
 * out; 0: none does. object: NULL, or the beginning of the file name that the object must have
 * ("libc.so"). Sees objects that were loaded RTLD_LOCAL too. Any thread; takes the loader's lock.
 */
uintptr_t elf_find(const char *name, const char *object);

#endif
