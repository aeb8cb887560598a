/* SPDX-License-Identifier: MIT */
/*
 * fprof for C++17: the macros of fprof.h work in C++ as they are (also when an exception passes
 * through); these classes are for where a macro is in the way. With FPROF_DISABLED they are
 * empty.
 *
 *	static fprof::marker physics{"physics", __FILE__, __LINE__};
 *	fprof::zone z{physics};
 *	z.text("level 3");
 *	z.next(collision);
 */
#ifndef FPROF_HPP
#define FPROF_HPP

#include "fprof.h"

#include <string>
#include <string_view>
#include <type_traits>

namespace fprof
{

/* A static marker. Lives at least as long as the code that uses it; its strings are not copied. */
class marker
{
	friend class zone;
#ifndef FPROF_DISABLED
	fprof_marker m_;

      public:
	constexpr explicit marker(const char *name, const char *file = nullptr, uint32_t line = 0,
				  const char *category = nullptr, uint32_t colour = 0,
				  fprof_level level = FPROF_LEVEL_PHASE,
				  fprof_marker_kind kind = FPROF_MARKER_ZONE) noexcept
	    : m_{0,
		 name,
		 category,
		 file,
		 line,
		 colour,
		 static_cast<uint8_t>(kind),
		 static_cast<uint8_t>(level),
		 0,
		 {0, 0, 0, 0, 0}}
	{
	}
#else
      public:
	constexpr explicit marker(const char *, const char * = nullptr, uint32_t = 0,
				  const char * = nullptr, uint32_t = 0,
				  fprof_level = FPROF_LEVEL_PHASE,
				  fprof_marker_kind = FPROF_MARKER_ZONE) noexcept
	{
	}
#endif
	marker(const marker &) = delete;
	marker &operator=(const marker &) = delete;
};

/* From here to the end of the block. Stays on its thread or fiber; neither copied nor moved. */
class zone
{
#ifndef FPROF_DISABLED
	fprof_scope scope_;

      public:
	explicit zone(marker &m) noexcept : scope_(fprof_zone_begin(&m.m_))
	{
	}
	/* With a name of the moment; site gives the rest. */
	zone(marker &site, const char *name) noexcept
	    : scope_(fprof_zone_begin_dynamic(&site.m_, name))
	{
	}
	~zone()
	{
		fprof_zone_end(scope_);
	}
	/* Ends it here, once. */
	void end() noexcept
	{
		fprof_zone_end(scope_);
		scope_ = 0;
	}
	void next(marker &m) noexcept
	{
		scope_ = fprof_zone_next(scope_, &m.m_);
	}
	void text(const char *text) noexcept
	{
		fprof_zone_text(scope_, text);
	}
#else
      public:
	explicit zone(marker &) noexcept
	{
	}
	zone(marker &, const char *) noexcept
	{
	}
	~zone()
	{
	}
	void end() noexcept
	{
	}
	void next(marker &) noexcept
	{
	}
	void text(const char *) noexcept
	{
	}
#endif
	/* Not every text ends with a NUL. */
	void text(std::string_view text)
	{
#ifndef FPROF_DISABLED
		if (scope_)
			this->text(std::string(text.substr(0, FPROF_TEXT_MAX + 1)).c_str());
#else
		(void)text;
#endif
	}
	/* A number or an enumerator. What int64_t does not hold is recorded as a double. */
	template <typename T> void value(T v) noexcept
	{
		static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
			      "a zone's value is a number");
#ifndef FPROF_DISABLED
		if constexpr (std::is_floating_point_v<T>)
			fprof_zone_value_f64(scope_, static_cast<double>(v));
		else if (static_cast<int64_t>(v) < 0 && v > T{})
			fprof_zone_value_f64(scope_, static_cast<double>(v));
		else
			fprof_zone_value_i64(scope_, static_cast<int64_t>(v));
#else
		(void)v;
#endif
	}
	zone(const zone &) = delete;
	zone &operator=(const zone &) = delete;
};

/* The calling thread runs a fiber while this lives. */
class fiber_scope
{
      public:
	explicit fiber_scope(fprof_fiber &fiber) noexcept
	{
		fprof_fiber_enter(&fiber);
	}
	~fiber_scope()
	{
		fprof_fiber_leave();
	}
	fiber_scope(const fiber_scope &) = delete;
	fiber_scope &operator=(const fiber_scope &) = delete;
};

/* The game is loading from here to the end of the block, see fprof_loading(). */
class loading
{
      public:
	loading() noexcept
	{
		fprof_loading(true);
	}
	~loading()
	{
		fprof_loading(false);
	}
	loading(const loading &) = delete;
	loading &operator=(const loading &) = delete;
};

} // namespace fprof

#endif
