/* SPDX-License-Identifier: MIT */
/*
 * The first packet of a connection. The check is private to the module that receives packets, so
 * that module is compiled into this program under other names.
 */
#define listen_new	  fuzz_listen_new
#define listen_free	  fuzz_listen_free
#define listen_set_config fuzz_listen_set_config
#define listen_on_signal  fuzz_listen_on_signal
#include "daemon/listen.c" /* NOLINT */

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fprof_msg_hello hello;
	char reason[REASON_BYTES];
	size_t bytes = size < sizeof(hello) ? size : sizeof(hello);

	/* As a packet is received: into a buffer that holds the largest one, the rest as it was. */
	memset(&hello, 0xa5, sizeof(hello));
	memcpy(&hello, data, bytes);
	memset(reason, 0x5a, sizeof(reason));
	if (check_hello(&hello, bytes, reason) < 0) {
		if (strnlen(reason, sizeof(reason)) == sizeof(reason))
			__builtin_trap();
		return 0;
	}
	if (bytes != sizeof(hello) || hello.magic != FPROF_SOCKET_MAGIC ||
	    hello.abi_major != FPROF_ABI_MAJOR)
		__builtin_trap();
	return 0;
}
