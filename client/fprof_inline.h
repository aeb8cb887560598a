/* SPDX-License-Identifier: MIT */
/*
 * The inline halves of what fprof.h declares. A gate that is one compare comes before everything;
 * then a zone's word is written in place when the thread's writer is ready, and the slow half
 * does the rest.
 */
#ifndef FPROF_INLINE_H
#define FPROF_INLINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Are events of level wanted on this thread? */
static inline bool fprof_wanted(const struct fprof_writer *w, uint32_t level)
{
	return FPROF_LIKELY(FPROF_LOAD_RELAXED(&w->closed) + level < FPROF_LEVELS);
}

/* Is top a lead word? Else the marker was not interned, or its category is masked: then it has the
 * marker's id and, where a time would be, the number of the masks that it was compared with. */
static inline bool fprof_top_known(uint64_t top)
{
	return top >> 60 != 0;
}

static inline bool fprof_masked(const struct fprof_writer *w, uint64_t top)
{
	uint32_t masks = FPROF_LOAD_RELAXED(&w->masks);

	return masks && FPROF_CAST(uint32_t, top) == masks;
}

static inline fprof_scope fprof_zone_begin_at(struct fprof_marker *marker, uint32_t level)
{
	struct fprof_writer *w = fprof_writer_here();
	uint32_t depth;
	uint64_t top;

	if (!fprof_wanted(w, level))
		return 0;
	top = FPROF_LOAD_RELAXED(&marker->top);
	if (FPROF_UNLIKELY(!FPROF_LOAD_RELAXED(&w->ready) || !fprof_top_known(top)))
		return fprof_masked(w, top) ? 0 : fprof_begin_slow(marker);
	depth = w->depth;
	fprof_put(w, top, depth + 1);
	return top | depth;
}

static inline fprof_scope fprof_zone_begin(struct fprof_marker *marker)
{
	return fprof_zone_begin_at(marker, marker->level);
}

static inline fprof_scope fprof_zone_begin_dynamic(struct fprof_marker *site, const char *name)
{
	if (!fprof_wanted(fprof_writer_here(), site->level))
		return 0;
	return fprof_begin_dynamic_slow(site, name);
}

static inline void fprof_zone_end(fprof_scope scope)
{
	struct fprof_writer *w;
	uint32_t depth, outer;

	if (!scope)
		return;
	w = fprof_writer_here();
	if (FPROF_UNLIKELY(!FPROF_LOAD_RELAXED(&w->ready))) {
		fprof_end_slow(scope);
		return;
	}
	depth = w->depth;
	outer = fprof_scope_depth(scope);
	fprof_put(w, fprof_scope_top(scope) + FPROF_TOP_KIND_STEP, depth < outer ? depth : outer);
}

static inline void fprof_scope_close(fprof_scope *scope)
{
	fprof_zone_end(*scope);
}

static inline fprof_scope fprof_zone_next(fprof_scope scope, struct fprof_marker *marker)
{
	struct fprof_writer *w = fprof_writer_here();
	bool wanted = fprof_wanted(w, marker->level);
	uint64_t top = FPROF_LOAD_RELAXED(&marker->top);

	if (!scope && !wanted)
		return 0;
	if (FPROF_UNLIKELY(!scope || !wanted || !fprof_top_known(top) ||
			   !FPROF_LOAD_RELAXED(&w->ready) ||
			   w->depth != fprof_scope_depth(scope) + 1))
		return fprof_next_slow(scope, marker);
	fprof_put(w, top + 2 * FPROF_TOP_KIND_STEP, w->depth);
	return top | fprof_scope_depth(scope);
}

static inline void fprof_zone_text(fprof_scope scope, const char *text)
{
	if (scope)
		fprof_zone_text_slow(scope, text);
}

static inline void fprof_zone_value_i64(fprof_scope scope, int64_t value)
{
	if (scope)
		fprof_zone_value_slow(scope, FPROF_VALUE_I64, FPROF_CAST(uint64_t, value));
}

static inline uint64_t fprof_f64_bits(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline void fprof_zone_value_f64(fprof_scope scope, double value)
{
	if (scope)
		fprof_zone_value_slow(scope, FPROF_VALUE_F64, fprof_f64_bits(value));
}

static inline void fprof_instant(struct fprof_marker *marker)
{
	struct fprof_writer *w = fprof_writer_here();
	uint64_t top;

	if (!fprof_wanted(w, marker->level))
		return;
	top = FPROF_LOAD_RELAXED(&marker->top);
	if (FPROF_UNLIKELY(!FPROF_LOAD_RELAXED(&w->ready) || !fprof_top_known(top)))
		fprof_instant_slow(marker);
	else
		fprof_put(w, top, w->depth);
}

static inline void fprof_counter_put(struct fprof_marker *counter, unsigned op, unsigned type,
				     uint64_t bits)
{
	if (fprof_wanted(fprof_writer_here(), FPROF_LEVEL_LANDMARK))
		fprof_counter_slow(counter, op, type, bits);
}

static inline void fprof_counter_set_i64(struct fprof_marker *counter, int64_t value)
{
	fprof_counter_put(counter, FPROF_COUNTER_SET, FPROF_VALUE_I64, FPROF_CAST(uint64_t, value));
}

static inline void fprof_counter_set_f64(struct fprof_marker *counter, double value)
{
	fprof_counter_put(counter, FPROF_COUNTER_SET, FPROF_VALUE_F64, fprof_f64_bits(value));
}

static inline void fprof_counter_add_i64(struct fprof_marker *counter, int64_t value)
{
	fprof_counter_put(counter, FPROF_COUNTER_ADD, FPROF_VALUE_I64, FPROF_CAST(uint64_t, value));
}

static inline void fprof_counter_add_f64(struct fprof_marker *counter, double value)
{
	fprof_counter_put(counter, FPROF_COUNTER_ADD, FPROF_VALUE_F64, fprof_f64_bits(value));
}

static inline void fprof_gpu_span(const struct fprof_gpu_result *span)
{
	if (fprof_wanted(fprof_writer_here(), FPROF_LEVEL_LANDMARK))
		fprof_gpu_span_slow(span);
}

#ifdef __cplusplus
}
#endif

#endif
