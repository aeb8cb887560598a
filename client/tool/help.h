/* SPDX-License-Identifier: MIT */
/* What the command says of itself. */
#ifndef FPROF_TOOL_HELP_H
#define FPROF_TOOL_HELP_H

/* Prints how all commands are called, the options that all have, and the exit codes. TOOL_OK. */
int help_all(void);
/* Prints how one is called and what its options mean. TOOL_OK. name: of a command. */
int help_command(const char *name);

#endif
