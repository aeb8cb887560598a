/* SPDX-License-Identifier: MIT */
/* What the library has to say goes to the game's callback, or nowhere. */
#ifndef FPROF_CLIENT_NOTE_H
#define FPROF_CLIENT_NOTE_H

#define NOTE_ERROR   3
#define NOTE_WARNING 4
#define NOTE_INFO    6

/* text and detail (may be NULL) are joined with ": "; error is an errno to add, or 0. */
void note(int level, const char *text, const char *detail, int error);

#endif
