/* SPDX-License-Identifier: MIT */
/*
 * Functions that moved from libpthread to libc in glibc 2.34 got a new version there. A library
 * that is linked on such a system would ask for it, and not load on an older one; as a preload it
 * would take the game with it. These ask for the version that has always been there.
 */
#ifndef FPROF_CLIENT_GLIBC_H
#define FPROF_CLIENT_GLIBC_H

#include <features.h>

#if defined(__GLIBC__) && !defined(FPROF_STATIC_LIBC)
#if defined(__x86_64__)
#define FPROF_GLIBC_FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FPROF_GLIBC_FIRST "GLIBC_2.17"
#endif
#endif

#ifdef FPROF_GLIBC_FIRST
__asm__(".symver pthread_key_create,pthread_key_create@" FPROF_GLIBC_FIRST);
__asm__(".symver pthread_key_delete,pthread_key_delete@" FPROF_GLIBC_FIRST);
__asm__(".symver pthread_setspecific,pthread_setspecific@" FPROF_GLIBC_FIRST);
#endif

#endif
