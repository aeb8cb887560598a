/* SPDX-License-Identifier: MIT */
/*
 * Atomic accesses to plain objects, for headers that must compile as C11 and as C++17.
 *
 * Every word that two processes share goes through one of these; none is ever read or written
 * plainly. They are GCC/clang builtins rather than <stdatomic.h>, which C++17 cannot include.
 */
#ifndef FPROF_SHM_ATOMIC_H
#define FPROF_SHM_ATOMIC_H

#define FPROF_LOAD_RELAXED(p)	  __atomic_load_n((p), __ATOMIC_RELAXED)
#define FPROF_LOAD_ACQUIRE(p)	  __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define FPROF_STORE_RELAXED(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define FPROF_STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define FPROF_ADD_RELAXED(p, v)	  __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define FPROF_FENCE_ACQUIRE()	  __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define FPROF_FENCE_RELEASE()	  __atomic_thread_fence(__ATOMIC_RELEASE)
/* Orders one thread against its own signal handlers: no instruction, a compiler barrier. */
#define FPROF_FENCE_SIGNAL() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#define FPROF_LIKELY(x)	  __builtin_expect(!!(x), 1)
#define FPROF_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
