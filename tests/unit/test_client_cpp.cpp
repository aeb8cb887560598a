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
#include <utility>

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

static void raii_loading_ends_with_its_block(void **)
{
	const fprof_writer *w = fprof_tls.writer;

	{
		fprof::loading now;
		uint64_t pos = FPROF_LOAD_RELAXED(&w->slot->head) - 2;

		assert_int_equal(fprof_word_ext_kind(w->ring[pos & w->mask]), FPROF_EXT_LOADING);
		assert_int_equal(w->ring[(pos + 1) & w->mask], 1);
	}
	assert_int_equal(w->ring[(FPROF_LOAD_RELAXED(&w->slot->head) - 1) & w->mask], 0);
}

/* The type and the bits of the value that was recorded last. */
static std::pair<uint64_t, uint64_t> last_value()
{
	const fprof_writer *w = fprof_tls.writer;
	uint64_t pos = FPROF_LOAD_RELAXED(&w->slot->head) - 3;

	assert_int_equal(fprof_word_ext_kind(w->ring[pos & w->mask]), FPROF_EXT_VALUE);
	return {w->ring[(pos + 1) & w->mask], w->ring[(pos + 2) & w->mask]};
}

template <typename T> static void expect_recorded(fprof::zone &z, T value, int64_t expected)
{
	z.value(value);
	assert_int_equal(last_value().first, FPROF_VALUE_I64);
	assert_true(last_value().second == static_cast<uint64_t>(expected));
}

static void raii_values_of_every_arithmetic_type(void **)
{
	static fprof::marker m{"values", __FILE__, __LINE__};
	fprof::zone z{m};
	enum class colour : unsigned char { red = 3 };

	expect_recorded(z, 1, 1);
	expect_recorded(z, -1, -1);
	expect_recorded(z, 1u, 1);
	expect_recorded(z, UINT32_MAX, UINT32_MAX);
	expect_recorded(z, 1l, 1);
	expect_recorded(z, 1ul, 1);
	expect_recorded(z, -1ll, -1);
	expect_recorded(z, 1ull, 1);
	expect_recorded(z, size_t{7}, 7);
	expect_recorded(z, int8_t{-8}, -8);
	expect_recorded(z, true, 1);
	expect_recorded(z, colour::red, 3);
	expect_recorded(z, uint64_t{INT64_MAX}, INT64_MAX);
	for (double value : {2.5, static_cast<double>(1.5f), -0.25}) {
		z.value(value);
		assert_int_equal(last_value().first, FPROF_VALUE_F64);
		assert_true(last_value().second == fprof_f64_bits(value));
	}
	z.value(1.5f);
	assert_true(last_value().second == fprof_f64_bits(1.5));
	z.value(UINT64_MAX);
	assert_int_equal(last_value().first, FPROF_VALUE_F64);
	assert_true(last_value().second == fprof_f64_bits(static_cast<double>(UINT64_MAX)));
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
		cmocka_unit_test(raii_loading_ends_with_its_block),
		cmocka_unit_test(raii_values_of_every_arithmetic_type),
		cmocka_unit_test(raii_zone_ends_once),
		cmocka_unit_test(fiber_scope_has_a_depth_of_its_own),
	};

	setenv("FPROF_SOCKET", "/nonexistent/fprofd.sock", 1);
	setenv("FPROF_RUN", "1", 1);
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
