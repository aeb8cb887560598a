// SPDX-License-Identifier: MIT
/* The macros and classes in C++: zones end when a block is left in whatever way. */
#include "fprof.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern "C" {
#include <cmocka.h>
}

static unsigned depth()
{
	return fprof_tls.writer->depth;
}

static void thrower(int n)
{
	FPROF_ZONE("thrower");
	FPROF_ZONE("thrower.second");
	if (n == 0)
		throw std::runtime_error("thrown through zones");
	thrower(n - 1);
}

static void exception_ends_the_zones_it_passes(void **)
{
	FPROF_ZONE("outer");
	unsigned before = depth();

	assert_int_equal(before, 1);
	try {
		thrower(5);
		fail();
	} catch (const std::runtime_error &) {
	}
	assert_int_equal(depth(), before);
}

static void raii_zone_ends_with_its_block(void **)
{
	static fprof::marker outer{"outer", __FILE__, __LINE__};
	static fprof::marker second{"second", __FILE__, __LINE__, "category", 0xff0000};
	unsigned before = depth();

	{
		fprof::zone z{outer};

		assert_int_equal(depth(), before + 1);
		z.text("a text");
		z.text(std::string_view("a view", 3));
		z.value(1);
		z.value(2.5);
		z.next(second);
		assert_int_equal(depth(), before + 1);
		fprof::zone dynamic{outer, "named now"};
		assert_int_equal(depth(), before + 2);
	}
	assert_int_equal(depth(), before);
}

static void raii_zone_ends_once(void **)
{
	static fprof::marker m{"ends once", __FILE__, __LINE__};
	unsigned before = depth();

	{
		fprof::zone a{m};
		fprof::zone b{m};

		b.end();
		assert_int_equal(depth(), before + 1);
	}
	assert_int_equal(depth(), before);
}

static void fiber_scope_has_a_depth_of_its_own(void **)
{
	static fprof_fiber fiber = FPROF_FIBER_INIT(7, "fiber");
	FPROF_ZONE("on the thread");
	unsigned before = depth();

	{
		fprof::fiber_scope scope{fiber};

		assert_int_equal(depth(), 0);
		FPROF_ZONE("on the fiber");
		assert_int_equal(depth(), 1);
	}
	assert_int_equal(depth(), before);
}

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exception_ends_the_zones_it_passes),
		cmocka_unit_test(raii_zone_ends_with_its_block),
		cmocka_unit_test(raii_zone_ends_once),
		cmocka_unit_test(fiber_scope_has_a_depth_of_its_own),
	};

	setenv("FPROF_SOCKET", "/nonexistent/fprofd.sock", 1);
	setenv("FPROF_RUN", "1", 1);
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
