/* SPDX-License-Identifier: MIT */
/*
 * The ring of shm/writer.h and shm/reader.h, with a store buffer.
 *
 * spin alone is sequentially consistent; the ring is not. What a store buffer (or a weakly ordered CPU)
 * may do is modelled by hand: a word that the producer has stored lies in the buffer until the process
 * `memory` makes it visible, in any order. Three rules hold it back:
 *   - a head is a release store: it becomes visible after all words below it, heads in their order;
 *   - a release fence: nothing stored after it becomes visible before what was stored before it;
 *   - a buffer holds at most BUFFER words.
 *
 * A word holds its own absolute position, so a reader that gets a word of another lap sees it (a torn
 * read). Blocks have a header and two words; an event is one word or two, and never straddles a block.
 * The producer laps the ring and may be killed between any two steps; its stores still drain.
 *
 * The reader checks one word a sweep, at a position that spin chooses: as each position is chosen in
 * some run, all are checked, and the copy loop need not be stepped through.
 *
 * Mutants, each of which must find a torn read:
 *   NO_FENCE   the fence before a new block is missing
 *   NO_MARGIN  the reader discards what was overwritten without the block of margin
 *   NO_REREAD  the reader judges by the head that it read before the copy
 *   NO_RELEASE the head is a relaxed store
 */
#define BLOCK  3
#define WORDS  12 /* four blocks, the least that layout.h allows */
#ifndef END
#define END    21 /* the producer stops here at the latest: one lap and three quarters */
#endif
#define BUFFER 5  /* words stored and not yet visible */

#define BLOCK_START(p) (((p) / BLOCK) * BLOCK)
#define BLOCK_UP(p)    ((((p) + BLOCK - 1) / BLOCK) * BLOCK)

byte ring[WORDS];    /* what others see: the position of the word, 255: never written */
bit head_pending[WORDS]; /* a head store of (position % WORDS) that is not visible yet */
byte position = 0;   /* the producer's: all words below are stored */
byte stored_head = 0; /* the newest head that it stored */
byte fence = 0;	     /* words below were all visible at the last fence, or since */
byte head = 0;	     /* what others see */
bool dead = false;

inline store_word()
{
	/* Room in the buffer; without a fence this is all that bounds it. */
	position < fence + BUFFER;
	position++
}

inline store_head()
{
	d_step {
		stored_head = position;
		if
		:: stored_head != head -> head_pending[stored_head % WORDS] = 1
		:: else
		fi
	}
}

inline killed_or_go_on()
{
	if
	:: true -> goto killed
	:: true
	fi
}

active proctype producer()
{
	do
	:: position >= END -> break
	:: else ->
		if
		:: position % BLOCK == 0 -> /* next_block: the old one is full and its head stored */
			store_head();
			killed_or_go_on();
#ifndef NO_FENCE
			(fence == position && head == stored_head);
#endif
			store_word();
			store_head()
		:: position % BLOCK == 1 -> /* an event of one word */
			store_word();
			killed_or_go_on();
			store_head()
		:: position % BLOCK == 1 -> /* an event of two */
			store_word();
			killed_or_go_on();
			store_word();
			killed_or_go_on();
			store_head()
		:: position % BLOCK == 2 -> /* one word, or a pad because two do not fit */
			store_word();
			killed_or_go_on();
			store_head()
		fi;
		killed_or_go_on()
	od;
killed:
	dead = true
}

byte m_word, m_head;

/* Makes stores visible, until a dead producer's are all out. */
active proctype memory()
{
end:
	do
	:: fence < position -> atomic {
		/* any word of the buffer that is not out yet */
		m_word = fence;
		do
		:: m_word < position && ring[m_word % WORDS] != m_word -> break
		:: m_word + 1 < position -> m_word++
		:: else -> goto word_done
		od;
		ring[m_word % WORDS] = m_word;
word_done:
		m_word = 0;
		do
		:: fence < position && ring[fence % WORDS] == fence -> fence++
		:: else -> break
		od
	}
	:: head != stored_head -> atomic {
		/* the oldest head of the buffer */
		m_head = head + 1;
		do
		:: !head_pending[m_head % WORDS] -> m_head++
		:: else -> break
		od;
#ifndef NO_RELEASE
		if
		:: m_head <= fence -> head_pending[m_head % WORDS] = 0; head = m_head
		:: else
		fi;
#else
		head_pending[m_head % WORDS] = 0;
		head = m_head;
#endif
		m_head = 0
	}
	:: dead && fence == position && head == stored_head -> break
	od
}

byte tail = 0;
byte r_head, r_probe, r_again, r_first;
bool r_whole;

active proctype reader()
{
	do
	:: atomic {
		head != tail ->
		r_head = head; /* acquire */
		/* one word of [tail, r_head) */
		r_probe = tail;
		do
		:: r_probe + 1 < r_head -> r_probe++
		:: break
		od
	   }
		r_whole = (ring[r_probe % WORDS] == r_probe);
		/* acquire fence: the head is read after the word */
		d_step {
#ifndef NO_REREAD
			r_again = head;
#else
			r_again = r_head;
#endif
			r_first = tail;
#ifndef NO_MARGIN
			if
			:: r_again + BLOCK > tail + WORDS ->
				r_first = BLOCK_UP(r_again + BLOCK - WORDS)
			:: else
			fi;
#else
			if
			:: r_again > tail + WORDS -> r_first = BLOCK_UP(r_again - WORDS)
			:: else
			fi;
#endif
			/* what is kept is what was written there */
			assert(r_probe < r_first || r_whole);
			/* a lapped reader goes on at a header that it has not passed */
			assert(r_first == tail || r_first % BLOCK == 0);
			assert(r_first >= tail);
			if
			:: r_first > r_head -> tail = r_first
			:: else -> tail = r_head
			fi;
			r_head = 0; r_probe = 0; r_whole = 0; r_again = 0; r_first = 0
		}
	:: dead && fence == position && head == stored_head && head == tail -> break
	od;
	/* a killed producer loses no event that it published */
	assert(tail == stored_head)
}
