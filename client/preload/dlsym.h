/* SPDX-License-Identifier: MIT */
/* The dynamic linker's own functions, which this library stands in front of. */
#ifndef FPROF_PRELOAD_DLSYM_H
#define FPROF_PRELOAD_DLSYM_H

#include <stdint.h>

/* The real dlsym, called as this library; 0 where there is none. Any thread. */
uintptr_t real_dlsym(void *handle, const char *name);

/* Takes back the error text that a failed lookup of ours left for the game's dlerror. */
void real_forget_error(void);

/* Keeps the object that holds address loaded for good. Any thread. */
void real_pin(uintptr_t address);

#endif
