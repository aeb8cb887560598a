// SPDX-License-Identifier: MIT
/*
 * dlsym, in front of the real one: a game that fetches a hooked function by name gets our wrapper
 * of it.
 *
 * The real dlsym looks at its return address to learn who asks (RTLD_NEXT, RTLD_DEFAULT), so for
 * all that is not ours the wrapper must not call it but jump to it, with the stack as it was: a few
 * instructions of assembly around dlsym_decide. Nothing of libdl is imported by name: its symbols
 * were moved to another version in glibc 2.34, and a preload that needs the newer one kills games
 * on older systems.
 */
#include "dlsym.h"

#include "elf.h"
#include "hook.h"
#include "shm/atomic.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>

typedef uintptr_t (*dlsym_fn)(void *handle, const char *name);
typedef void *(*dlopen_fn)(const char *file, int mode);
typedef int (*dlclose_fn)(void *handle);
typedef char *(*dlerror_fn)(void);
typedef int (*dladdr_fn)(const void *address, Dl_info *info);

static dlsym_fn dlsym_cached;

static dlsym_fn dlsym_find(void)
{
	dlsym_fn fn = FPROF_LOAD_RELAXED(&dlsym_cached);

	if (fn)
		return fn;
	/* the program's first dlsym or our constructor: no other thread is there yet */
	fn = (dlsym_fn)elf_find_early("dlsym", "libc.so");
	if (!fn) /* before glibc 2.34 */
		fn = (dlsym_fn)elf_find_early("dlsym", "libdl.so");
	FPROF_STORE_RELAXED(&dlsym_cached, fn);
	return fn;
}

uintptr_t real_dlsym(void *handle, const char *name)
{
	dlsym_fn fn = dlsym_find();

	return fn ? fn(handle, name) : 0;
}

void real_forget_error(void)
{
	dlerror_fn forget = (dlerror_fn)real_dlsym(RTLD_NEXT, "dlerror");

	if (forget)
		forget();
}

static void *dlsym_open_again(const void *address, int mode)
{
	dladdr_fn addr = (dladdr_fn)real_dlsym(RTLD_NEXT, "dladdr");
	dlopen_fn open = (dlopen_fn)real_dlsym(RTLD_NEXT, "dlopen");
	Dl_info info;

	if (!addr || !open || !addr(address, &info) || !info.dli_fname)
		return NULL;
	return open(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | mode);
}

void real_pin(uintptr_t address)
{
	/* the handle is kept: what must stay needs no reference count */
	dlsym_open_again((const void *)address, RTLD_NODELETE);
}

/* What the object that holds caller sees under name, when it was loaded where only it can see it.
 */
static uintptr_t dlsym_from_caller(const void *caller, const char *name)
{
	dlclose_fn close = (dlclose_fn)real_dlsym(RTLD_NEXT, "dlclose");
	void *handle = close ? dlsym_open_again(caller, 0) : NULL;
	uintptr_t found;

	if (!handle)
		return 0;
	found = real_dlsym(handle, name);
	close(handle);
	return found;
}

/* The wrapper of what handle has under hook's name; NULL, with dlerror set, where it has nothing.
 */
static uintptr_t dlsym_wrapped(const struct hook *hook, void *handle, const void *caller)
{
	uintptr_t found = real_dlsym(handle, hook->name);

	if (found == (uintptr_t)hook->exported) {
		/* that is only us: is there anything behind? */
		if (hook_next_global(hook))
			return found;
		found = handle == RTLD_DEFAULT ? dlsym_from_caller(caller, hook->name) : 0;
		if (found == (uintptr_t)hook->exported)
			found = 0;
		if (!found) /* leaves the error that the game expects */
			return real_dlsym(RTLD_NEXT, hook->name);
		real_forget_error();
	}
	return found ? (uintptr_t)hook_wrap(hook, (hook_fn)found) : 0;
}

/* Does the program itself ask, which stands before us? */
static bool dlsym_asks_program(const void *caller)
{
	dladdr_fn addr = (dladdr_fn)real_dlsym(RTLD_NEXT, "dladdr");
	Dl_info asker, program;

	return addr && addr(caller, &asker) && addr((const void *)getauxval(AT_PHDR), &program) &&
	       asker.dli_fbase == program.dli_fbase;
}

struct dlsym_decision {
	dlsym_fn jump; /* go on there as if nothing had been; NULL: answer */
	uintptr_t answer;
};

struct dlsym_decision dlsym_decide(void *handle, const char *name, const void *caller)
	__attribute__((used));

struct dlsym_decision dlsym_decide(void *handle, const char *name, const void *caller)
{
	const struct hook *hook = name ? hook_by_name(name) : NULL;

	if (!hook)
		return (struct dlsym_decision){.jump = dlsym_find()};
	/* Who asks for the next one stands in front of it as we do, and is seen by us already. Only
	 * where we are the next one and the last, the answer is that there is none. */
	if (handle == RTLD_NEXT) {
		if (!hook_next_global(hook) && dlsym_asks_program(caller))
			return (struct dlsym_decision){.answer = real_dlsym(handle, name)};
		return (struct dlsym_decision){.jump = dlsym_find()};
	}
	return (struct dlsym_decision){.answer = dlsym_wrapped(hook, handle, caller)};
}

#if defined(__x86_64__)
__asm__(".text\n"
	".p2align 4\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq (%rsp), %rdx\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call dlsym_decide\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rax, %rax\n"
	"	je 1f\n"
	"	jmp *%rax\n"
	"1:	movq %rdx, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".p2align 4\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	.cfi_offset 29, -32\n"
	"	.cfi_offset 30, -24\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x2, x30\n"
	"	bl dlsym_decide\n"
	"	mov x16, x0\n"
	"	mov x17, x1\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"	cbz x16, 1f\n"
	"	br x16\n"
	"1:	mov x0, x17\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size dlsym, . - dlsym\n");
#else
#error "the dlsym wrapper is written for x86-64 and arm64"
#endif
