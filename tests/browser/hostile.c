// SPDX-License-Identifier: MIT
// A game whose names are markup: whatever shows them must show them as text. It records until its
// input ends.
#include <fprof.h>

#include <poll.h>
#include <unistd.h>

#define NAME "<img src=x onerror=\"document.title='broken'\">"

int main(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	fprof_thread_name("<b>main</b>");
	fprof_session_info("<i>key</i>", "<script>document.title='broken'</script>");
	while (poll(&input, 1, 5) == 0) {
		FPROF_COUNTER_MARKER(counter, "<u>counter</u>", FPROF_UNIT_COUNT);
		FPROF_ZONE_V(zone, NAME);

		fprof_zone_text(zone, "</td><svg onload=\"document.title='broken'\">");
		fprof_message("<a href=\"javascript:0\">message</a>");
		fprof_counter_set_i64(&counter, 1);
		fprof_frame_mark();
	}
	return 0;
}
