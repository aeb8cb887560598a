/* SPDX-License-Identifier: MIT */
/*
 * The contract between game and daemon: what stands where in the two shared memories.
 *
 * Session memory: one memfd that the client creates, sealed against shrink, grow and further
 * seals. The client is its only writer; the daemon maps it read-only and trusts nothing in it.
 *
 *   header | slot[slot_count] | marker[marker_capacity] | strings | ring[slot_count]
 *
 * Control page: one memfd that the daemon creates, sealed the same way; the daemon is its only
 * writer, the client maps it read-only after the same checks.
 *
 * Memory holds offsets, never pointers. Integers are little-endian host words. Additions are made
 * at the ends of structures, or as new word subkinds; a reader of the same major version skips what
 * it does not know. A change of anything that stands here is a new FPROF_ABI_MAJOR.
 */
#ifndef FPROF_SHM_LAYOUT_H
#define FPROF_SHM_LAYOUT_H

#include "word.h"

#include <stdint.h>

#define FPROF_ABI_MAJOR 1
#define FPROF_ABI_MINOR 1

#define FPROF_MEMORY_MAGIC  UINT64_C(0x314d454d46525046)
#define FPROF_CONTROL_MAGIC UINT64_C(0x314c525446525046)

#define FPROF_BLOCK_WORDS	 512u		/* words in a block of a ring; see word.h */
#define FPROF_RING_WORDS_DEFAULT (128u * 1024u) /* 1 MiB */
#define FPROF_RING_WORDS_MIN	 (4u * FPROF_BLOCK_WORDS)
#define FPROF_RING_WORDS_MAX	 (8u * 1024u * 1024u) /* 64 MiB */
#define FPROF_RINGS_ALIGN	 (UINT64_C(2) << 20)  /* a huge page */
#define FPROF_SLOTS_DEFAULT	 512u
#define FPROF_SLOTS_MAX		 4096u
#define FPROF_MARKERS_DEFAULT	 65536u
#define FPROF_MARKERS_MAX	 (1u << 20)
#define FPROF_STRINGS_DEFAULT	 (8u * 1024u * 1024u)
#define FPROF_STRINGS_MAX	 (64u * 1024u * 1024u)
#define FPROF_NAME_MAX		 1023u /* bytes of a marker's name, category or file, without NUL */
#define FPROF_THREAD_NAME_MAX	 127u  /* bytes, without NUL */

/* Which clock the ticks of a memory are from. Chosen once per process. */
enum fprof_clock_kind {
	FPROF_CLOCK_TSC = 1,	   /* x86 invariant time stamp counter, unfenced */
	FPROF_CLOCK_CNTVCT = 2,	   /* arm64 virtual counter */
	FPROF_CLOCK_MONOTONIC = 3, /* CLOCK_MONOTONIC in ns, where the counter is not invariant */
};

/* Who made a memory, and who made a frame mark. */
enum fprof_origin {
	FPROF_ORIGIN_GAME = 1, /* libfprof called by the game's own code */
	FPROF_ORIGIN_HOOK = 2, /* libfprof-preload; and, of a mark, what an attached daemon saw */
	FPROF_ORIGIN_ATTACHED = 3, /* of a memory: the daemon, for a game that it is attached to */
};

/* What a process could not record, counted where it happened. Index into header.refused[]. */
enum fprof_refused {
	FPROF_REFUSED_THREADS = 0, /* threads without a slot (events of theirs are not recorded) */
	FPROF_REFUSED_MARKERS,	   /* uses of a marker for which the table had no room */
	FPROF_REFUSED_NAMES,	   /* dynamic names refused by the rate limit */
	FPROF_REFUSED_TRUNCATED,   /* names, texts and messages cut to their limit */
	FPROF_REFUSED_EVENTS,	   /* events of threads without a slot, counted where possible */
	FPROF_REFUSED_ARGUMENTS, /* calls with arguments that mean nothing (NaN unit, NULL name) */
	FPROF_REFUSED_RESERVED_6,
	FPROF_REFUSED_RESERVED_7,
	FPROF_REFUSED_KINDS
};

struct fprof_memory_header {
	uint64_t magic; /* FPROF_MEMORY_MAGIC, written last, with release */
	uint16_t abi_major, abi_minor;
	uint32_t header_bytes; /* sizeof(struct fprof_memory_header) of the writer */
	uint64_t total_bytes;  /* the size of the memfd */
	uint64_t features;     /* 0; unknown bits are ignored by readers of the same major */

	uint32_t slot_count, slot_bytes; /* slot_bytes >= sizeof(struct fprof_slot) */
	uint64_t slots_offset;
	uint32_t marker_capacity,
		marker_bytes; /* marker_bytes >= sizeof(struct fprof_marker_entry) */
	uint64_t markers_offset;
	uint64_t strings_offset;
	uint32_t strings_bytes;
	uint32_t ring_words; /* words in each ring: a power of two */
	/* ring of slot i at rings_offset + i * ring_words * 8, page aligned; a multiple of
	 * FPROF_RINGS_ALIGN is best */
	uint64_t rings_offset;

	uint32_t clock_kind;	  /* enum fprof_clock_kind */
	uint32_t origin;	  /* enum fprof_origin */
	uint64_t start_ticks;	  /* clock when the memory was made */
	uint64_t start_utc_ns;	  /* CLOCK_REALTIME then */
	int32_t pid;		  /* getpid() of the writer, in its own namespace */
	uint32_t library_version; /* major << 16 | minor << 8 | patch */
	uint64_t memory_id;	  /* random; tells this memory from any other */
	uint64_t image_id;	  /* hash of AT_RANDOM: equal for all memories of one exec image */
	uint64_t pad0[15];

	/* Written while recording; each grows only. A cache line of its own. */
	uint32_t slots_used;   /* slots [0, slots_used) have been used at least once; release */
	uint32_t markers_used; /* entries claimed; one may still be unpublished; ids start at 1 */
	uint32_t strings_used; /* bytes claimed */
	uint32_t pad1;
	uint64_t refused[FPROF_REFUSED_KINDS]; /* relaxed adds */
	uint64_t pad2[6];
};

/* state of a slot */
enum fprof_slot_state {
	FPROF_SLOT_FREE = 0,
	FPROF_SLOT_LIVE = 1,
	FPROF_SLOT_DEAD = 2, /* its thread has ended; a new thread may take it over */
};

/*
 * A thread's place: the ring of slot i and what belongs to it. One writer: its thread. A slot taken
 * over by a new thread goes on in the same ring with a THREAD word; head and the counts go on.
 */
struct fprof_slot {
	/* line 0: stored at every event */
	uint64_t
		head; /* absolute position in words after the last published one; never decreases */
	uint64_t pad0[7];

	/* line 1: counts of what this slot's threads could not record; relaxed, grow only */
	uint64_t dropped_reentrant; /* events recorded by a signal handler inside a write */
	uint64_t dropped_other;
	uint64_t pad1[6];

	/* lines 2-4: who owns the slot now. A seqlock: odd while it is being written. */
	uint32_t seq;
	uint32_t state;	      /* enum fprof_slot_state */
	int32_t tid;	      /* gettid() in the game's namespace */
	uint32_t serial;      /* 1, 2, ... per memory: tells apart threads with the same tid */
	uint64_t start_ticks; /* when this thread registered */
	uint64_t begin_pos;   /* position of its THREAD word */
	uint64_t populate_ns; /* what populating the ring cost at registration */
	uint8_t name[FPROF_THREAD_NAME_MAX + 1]; /* NUL-terminated, any bytes */
	uint64_t named;				 /* 1: by the game; 0: it is the kernel's */
	uint64_t pad2[2];
};

/* What a marker is. Stored in marker entries; 8 bits. */
enum fprof_marker_kind {
	FPROF_MARKER_ZONE = 0,
	FPROF_MARKER_WAIT_GPU = 1,     /* a zone in which the thread waits for the GPU */
	FPROF_MARKER_WAIT_PRESENT = 2, /* ... for the present, or for an image to draw to */
	FPROF_MARKER_WAIT_CAP = 3,     /* ... for the frame limiter's sleep */
	FPROF_MARKER_INSTANT = 4,
	FPROF_MARKER_COUNTER = 5,
	FPROF_MARKER_STREAM = 6, /* name of a frame stream */
	FPROF_MARKER_FIBER = 7,	 /* name of a fiber */
	FPROF_MARKER_GPU = 8,	 /* name of a GPU zone or a GPU queue */
	FPROF_MARKER_MESSAGE = 9,
	FPROF_MARKER_KINDS
};

enum fprof_unit {
	FPROF_UNIT_COUNT = 0,
	FPROF_UNIT_BYTES = 1,
	FPROF_UNIT_MS = 2,
	FPROF_UNIT_PERCENT = 3,
	FPROF_UNITS
};

/* Detail levels: a zone is recorded where its level is below the gate. */
enum fprof_level {
	FPROF_LEVEL_LANDMARK = 0,
	FPROF_LEVEL_PHASE = 1,
	FPROF_LEVEL_INNER = 2,
	FPROF_LEVELS = 3,
};

/*
 * One interned marker. The entry is filled, then ready is set with release; strings lie in
 * the strings area and carry no NUL. Two entries never have the same content.
 */
struct fprof_marker_entry {
	uint32_t ready;					    /* 1 once the rest is valid */
	uint8_t kind;					    /* enum fprof_marker_kind */
	uint8_t level;					    /* enum fprof_level */
	uint8_t unit;					    /* enum fprof_unit, counters only */
	uint8_t dynamic;				    /* 1: the name was made at run time */
	uint32_t name_offset, category_offset, file_offset; /* into the strings area */
	uint16_t name_bytes, category_bytes, file_bytes, pad0;
	uint32_t line;	 /* 0: unknown */
	uint32_t colour; /* 0xRRGGBB, 0: none given */
	uint64_t pad1[3];
};

enum fprof_record_state {
	FPROF_STATE_STOPPED = 0,
	FPROF_STATE_RECORDING = 1,
	FPROF_STATE_FROZEN = 2,
};

enum fprof_control_flag {
	FPROF_CONTROL_ALLOCATIONS = 1 << 0, /* allocations are to be told of */
};

/* The daemon's page. Fields are written with relaxed stores, generation last with release. */
struct fprof_control {
	uint64_t magic; /* FPROF_CONTROL_MAGIC */
	uint16_t abi_major, abi_minor;
	uint32_t control_bytes; /* of all of it: 4096, FPROF_CONTROL_BYTES_DETAIL since minor 1 */
	uint32_t generation;	/* changes with every change below */
	uint32_t record_state;	/* enum fprof_record_state */
	uint32_t gate;		/* zones with level < gate are recorded: 0..FPROF_LEVELS */
	uint32_t flags;		/* enum fprof_control_flag; 0 before minor version 1 */
	uint64_t heartbeat;	/* grows at least 2x a second while the daemon lives */
	uint64_t session_id;
	uint64_t pad1[2];
};
#define FPROF_CONTROL_BYTES 4096u

/*
 * What is wanted of some zones only, at FPROF_CONTROL_BYTES of a control page that has
 * FPROF_CONTROL_BYTES_DETAIL. Names go as hashes: the client knows them, and only compares.
 */
#define FPROF_DETAIL_RULES_MAX 64u
#define FPROF_DETAIL_MASKS_MAX 64u
#define FPROF_DETAIL_PATH_MAX  32u /* names in a path, the thread's included */

/* Zones below this path are recorded where level < gate; those of a rule below it go by that. */
struct fprof_detail_rule {
	/* fprof_name_hash of the thread's (or fiber's) name, then of its zones', outermost first */
	uint64_t names[FPROF_DETAIL_PATH_MAX];
	uint32_t count; /* of names, at least 1 */
	uint32_t gate;	/* 1..FPROF_LEVELS */
};

struct fprof_detail {
	uint32_t seq; /* a seqlock: odd while the rest is written; changes with every change */
	uint32_t rule_count, mask_count, pad0;
	uint64_t masks[FPROF_DETAIL_MASKS_MAX]; /* fprof_name_hash of categories not wanted */
	struct fprof_detail_rule rules[FPROF_DETAIL_RULES_MAX];
};
#define FPROF_CONTROL_BYTES_DETAIL 24576u

/* FNV-1a; never 0. */
static inline uint64_t fprof_name_hash(const void *name, uint64_t bytes)
{
	const uint8_t *p = FPROF_CAST(const uint8_t *, name);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; bytes > 0; bytes--)
		hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/*
 * The socket: SOCK_SEQPACKET, one message a packet. The client sends HELLO with the memfd
 * attached, the daemon answers WELCOME (control memfd attached when status is 0), the client says
 * BYE when it ends in order. Nobody blocks on it.
 */
#define FPROF_SOCKET_MAGIC UINT32_C(0x4b534650)
/* The names of sessions of `fprof selftest` begin so: no game of a user, they are neither current
 * nor in the daemon's totals. */
#define FPROF_SELFTEST_NAME "fprof selftest: "

enum fprof_message_type {
	FPROF_MSG_HELLO = 1,
	FPROF_MSG_WELCOME = 2,
	FPROF_MSG_BYE = 3,
};

struct fprof_msg_hello {
	uint32_t magic;
	uint16_t type;	/* FPROF_MSG_HELLO */
	uint16_t bytes; /* of this message */
	uint16_t abi_major, abi_minor;
	uint32_t origin; /* enum fprof_origin */
	int32_t pid;	 /* getpid(), informative: the daemon asks the kernel */
	uint32_t library_version;
	uint64_t memory_id, image_id, memory_bytes;
	uint64_t connects; /* 0 at the first hello of this memory, then 1, 2, ... */
	char name[64];	   /* $FPROF_NAME, else empty; NUL-terminated */
};

struct fprof_msg_welcome {
	uint32_t magic;
	uint16_t type;
	uint16_t bytes;
	uint16_t abi_major, abi_minor;
	int32_t status; /* 0, or a negative errno: the session is refused */
	uint64_t session_id;
	char reason[96]; /* English, when refused; NUL-terminated */
};

struct fprof_msg_bye {
	uint32_t magic;
	uint16_t type;
	uint16_t bytes;
	uint32_t exit_status; /* informative */
	uint32_t pad0;
};

#ifdef __cplusplus
#define FPROF_STATIC_ASSERT(x, m) static_assert(x, m)
#else
#define FPROF_STATIC_ASSERT(x, m) _Static_assert(x, m)
#endif

FPROF_STATIC_ASSERT(sizeof(struct fprof_memory_header) == 384, "layout");
FPROF_STATIC_ASSERT(sizeof(struct fprof_slot) == 320, "layout");
FPROF_STATIC_ASSERT(sizeof(struct fprof_marker_entry) == 64, "layout");
FPROF_STATIC_ASSERT(sizeof(struct fprof_detail) + FPROF_CONTROL_BYTES <= FPROF_CONTROL_BYTES_DETAIL,
		    "layout");

#endif
