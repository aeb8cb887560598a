/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the fprof command: $SHIM_NO_MEMORY leaves it none for texts, $SHIM_GATE names a
 * FIFO, and a program is executed once somebody has opened that.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int asprintf(char **ret_text, const char *format, ...)
{
	va_list arguments;
	int n;

	if (getenv("SHIM_NO_MEMORY"))
		return -1;
	va_start(arguments, format);
	n = vasprintf(ret_text, format, arguments);
	va_end(arguments);
	return n;
}

int execvp(const char *file, char *const argv[])
{
	const char *gate = getenv("SHIM_GATE");

	if (gate)
		close(open(gate, O_RDONLY));
	return execvpe(file, argv, environ);
}
