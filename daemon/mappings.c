// SPDX-License-Identifier: MIT
/* The kernel writes the lines in the order of addresses; a path is what the game's user made of it.
 */
#include "mappings.h"

#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BYTES_MAX  (16u << 20)
#define PATH_BYTES 4096u

void mappings_deinit(struct mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings->at.count; i++)
		free(mappings->at.at[i].path);
	VEC_FREE(&mappings->at);
}

/* The file's text, NUL-terminated. */
static int read_text(int fd, char **ret_text)
{
	VEC(char) text = {0};
	ssize_t n = 1;

	while (n > 0 && text.count < BYTES_MAX) {
		if (VEC_RESERVE(&text, 65536) < 0) {
			VEC_FREE(&text);
			return -ENOMEM;
		}
		n = pread(fd, text.at + text.count, 65535, (off_t)text.count);
		if (n > 0)
			text.count += (size_t)n;
	}
	if (n < 0 || text.count == 0) {
		VEC_FREE(&text);
		return n < 0 ? -errno : -ESRCH;
	}
	text.at[text.count] = '\0';
	*ret_text = text.at;
	return 0;
}

static int take_line(struct mappings *m, const char *line)
{
	struct mapping new = {0};
	char perms[5];
	int path = 0;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &new.start, &new.end, perms, &new.place.offset, &new.place.major,
		   &new.place.minor, &new.place.inode, &path) < 7 ||
	    !path || !strchr(perms, 'x') || m->at.count == MAPPINGS_MAX)
		return 0;
	new.path = strndup(line + path, PATH_BYTES);
	if (new.path && VEC_PUSH(&m->at, new) == 0)
		return 0;
	free(new.path);
	return -ENOMEM;
}

int mappings_read(struct mappings *mappings, int fd)
{
	_cleanup_free_ char *text = NULL;
	struct mappings new = {0};
	char *line, *next;
	int r = read_text(fd, &text);

	for (line = text; r == 0 && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r = take_line(&new, line);
	}
	if (r < 0) {
		mappings_deinit(&new);
		return r;
	}
	mappings_deinit(mappings);
	*mappings = new;
	return 0;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->at.count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (mappings->at.at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mappings->at.count && mappings->at.at[low].start <= address
		       ? &mappings->at.at[low]
		       : NULL;
}
