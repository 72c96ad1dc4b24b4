/* Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
 *
 * A ring of chunks that has no service, in
 * src/tracing/shared_memory/chunk_ring.h: two writers, and pages of one chunk
 * each. README.md says what is checked.
 *
 * After each store, look() finds what the writers would leave if they were
 * killed then. A writer's stores to a chunk that is its own change nothing for
 * the other writer, so these are one step with several looks. Each other load
 * and store is a step, and the other writer may run between any two of them.
 *
 * A packet has two halves, as in chunks.pml.
 */

/* One of these makes one mistake: see README.md. */
#ifdef KEEP_COUNT
#define EMPTY_CHUNK skip
#else
#define EMPTY_CHUNK counts[page] = 0; look()
#endif
#ifdef LOOK_ONCE
#define IS_STILL_NEW false
#else
#define IS_STILL_NEW IS_NEW
#endif
#ifdef NEVER_NEW
#define IS_NEW false
#else
#define IS_NEW (completed_at[page] + MIN_AGE > step)
#endif
#ifdef NEVER_KEPT
#define IS_KEPT false
#else
#define IS_KEPT NEEDS_CHUNK
#endif
#ifdef TAKE_CHUNK_IN_USE
#define MAY_READ(word) ((word) == COMPLETE || (word) == WRITTEN)
#else
#define MAY_READ(word) ((word) == COMPLETE)
#endif
#ifdef COMPLETE_BEFORE_PATCH
#define PATCH_AND_COMPLETE complete(held, true); patch()
#else
#define PATCH_AND_COMPLETE patch(); complete(held, true)
#endif
#ifdef READ_LAST_PACKET
#define NUM_READ(page) counts[page]
#else
#define NUM_READ(page) (counts[page] - (words[page] == WRITTEN))
#endif

#define PAGES 3
#define PACKETS_OF_1 2
#define PACKETS 3
#define HALF (PAGES / 2)
#define MAX_RECORDS 3  /* In the memory: one more for the empty packet. */
#define NONE 255

/* A page's word: there is one chunk, so its state is all. */
#define UNUSED 0
#define FREE 1
#define WRITTEN 2
#define READ 3
#define COMPLETE 4

typedef Record {
  byte first;   /* The number of the packet; 0 for an empty one. */
  byte second;
}

/* The memory. */
byte next_step;
byte words[PAGES];
byte completed_at[PAGES];
byte writers[PAGES];
byte ids[PAGES];
byte counts[PAGES];     /* With the two flags, it is loaded at once. */
bool continues[PAGES];
bool goes_on[PAGES];
byte keep_from[3];      /* As KeptChunks: by writer, the first id that is kept. */
Record records[PAGES * MAX_RECORDS];
#define RECORD(page, i) records[(page) * MAX_RECORDS + (i)]

/* What init chooses: the packets for which a chunk has room. */
byte max_records = 1;

/* The rest is only there to check with. */
byte owner[PAGES];
bit must_be_there[PACKETS + 1];

/* What look() uses. */
hidden byte p, i;
hidden byte head[PACKETS + 1], tail[PACKETS + 1];
hidden byte is_there[PACKETS + 1];

/* As RingReader. */
inline look() {
  i = 0;
  do
  :: i > PACKETS -> break
  :: else -> head[i] = 0; tail[i] = 0; is_there[i] = 0; i++
  od;
  p = 0;
  do
  :: p == PAGES -> break
  :: else ->
     if
     :: words[p] >= WRITTEN && writers[p] != 0 && counts[p] != 0 ->
        assert(ids[p] != 0);
        i = 0;
        do
        :: i == NUM_READ(p) -> break
        :: else ->
           assert(RECORD(p, i).first == RECORD(p, i).second);
           if
           :: i == 0 && continues[p] -> tail[RECORD(p, i).first] = ids[p]
           :: (i > 0 || !continues[p]) && i == counts[p] - 1 && goes_on[p] ->
              head[RECORD(p, i).first] = ids[p]
           :: else -> is_there[RECORD(p, i).first] = 1
           fi;
           i++
        od
     :: else
     fi;
     p++
  od;
  i = 1;
  do
  :: i > PACKETS -> break
  :: else ->
     assert(!must_be_there[i] || is_there[i] ||
            head[i] != 0 && tail[i] == head[i] + 1);
     i++
  od;
  p = 0
}

/* The first round of TakeOldestChunk() takes nothing new, and the first two
 * nothing that its writer keeps. */
#define MIN_AGE (looks <= PAGES -> HALF : 0)
#define NEEDS_CHUNK (looks <= 2 * PAGES && keep_from[writers[page]] != 0 && \
                     ids[page] >= keep_from[writers[page]])

/* As FreeChunk(). */
inline free_chunk() {
  if
  :: IS_NEW || IS_KEPT
  :: else ->
     word = words[page];
     if
     :: MAY_READ(word) ->
        d_step {
          ok = words[page] == word;
          if
          :: ok ->
             assert(owner[page] == 0);
             owner[page] = me;
             words[page] = READ;
             look();
             ok = !(IS_STILL_NEW || IS_KEPT);
             if
             :: ok ->
                assert(looks > PAGES || completed_at[page] + HALF <= step);
                assert(!NEEDS_CHUNK);
                must_be_there[RECORD(page, 0).first] = 0;
                must_be_there[RECORD(page, 1).first] = 0;
                EMPTY_CHUNK;
                ids[page] = 0;
                look();
                writers[page] = 0;
                look();
                counts[page] = 0;
                is_unused = true
             :: else
             fi
          :: else
          fi
        };
        if
        :: is_unused -> d_step { owner[page] = 0; words[page] = UNUSED; look() }
        :: !is_unused && owner[page] == me ->
           d_step { owner[page] = 0; words[page] = COMPLETE; look() }
        :: else
        fi
     :: else
     fi
  fi
}

/* As TakeOldestChunk(), and TraceWriter::StartChunk() for the chunk. Sets
 * |chunk|, perhaps to NONE. */
inline take(is_continued) {
  chunk = NONE;
  looks = 0;
  do
  :: looks == 3 * PAGES -> break
  :: else ->
     d_step { step = next_step; next_step++; looks++; page = step % PAGES };
     is_unused = words[page] == UNUSED;
     if
     :: !is_unused -> free_chunk()
     :: else
     fi;
     d_step {
       if
       :: is_unused && words[page] == UNUSED -> words[page] = FREE
       :: else
       fi
     };
     d_step {
       ok = is_unused && words[page] == FREE;
       if
       :: ok ->
          assert(owner[page] == 0);
          owner[page] = me;
          words[page] = WRITTEN;
          look();
          RECORD(page, 0).first = 0;
          look();
          RECORD(page, 0).second = 0;
          look();
          ids[page] = next_id;
          look();
          writers[page] = me;
          look();
          counts[page] = 1;
          continues[page] = is_continued;
          goes_on[page] = false;
          look();
          num_records = 0;
          next_id++;
          chunk = page
       :: else
       fi
     };
     if
     :: chunk != NONE -> break
     :: else
     fi
  od;
  looks = 0;
  d_step { step = 0; page = 0; word = 0; ok = false; is_unused = false }
}

/* As CompleteRingChunk(). |is_safe| is whether the packet is finished then. */
inline complete(c, is_safe) {
  completed_at[c] = next_step;
  d_step {
    assert(owner[c] == me);
    owner[c] = 0;
    words[c] = COMPLETE;
    if
    :: is_safe -> must_be_there[packet] = 1
    :: else
    fi;
    look()
  }
}

inline return_chunk() {
  /* In place of the packet that was announced and did not come. */
  d_step {
    RECORD(chunk, num_records).first = 0;
    look();
    RECORD(chunk, num_records).second = 0;
    look()
  };
  complete(chunk, false);
  chunk = NONE
}

inline patch() {
  d_step { RECORD(held, counts[held] - 1).second = packet; look() }
}

/* The packet does not fit. As TraceWriter::GetNewBuffer(). */
inline continue_packet() {
  held = chunk;
  take(true);
  if
  :: chunk == NONE -> chunk = held; held = NONE; return_chunk()
  :: else ->
     d_step {
       goes_on[held] = true;
       look();
       RECORD(chunk, 0).first = packet;
       look();
       RECORD(chunk, 0).second = packet;
       look();
       num_records = 1;
       counts[chunk] = 2;
       look()
     };
     PATCH_AND_COMPLETE;
     held = NONE
  fi
}

proctype Writer(byte me; byte packet; byte last_packet) {
  byte chunk = NONE, held = NONE;
  byte num_records, next_id = 1, step, looks, page, word;
  bool ok, is_unused;
  do
  :: packet > last_packet -> break
  :: else ->
     if
     :: chunk != NONE && num_records >= max_records -> return_chunk()
     :: else
     fi;
     if
     :: chunk == NONE -> take(false)
     :: else
     fi;
     if
     :: chunk != NONE ->
        d_step {
          RECORD(chunk, num_records).first = packet;
          look();
          RECORD(chunk, num_records).second = 0;
          look()
        };
        if
        :: d_step {
             RECORD(chunk, num_records).second = packet;
             look();
             num_records++;
             counts[chunk] = num_records + 1;
             must_be_there[packet] = 1;
             look();
             /* The first one of a chunk says again what later ones need. */
             if
             :: num_records == 1 -> keep_from[me] = ids[chunk]
             :: else
             fi
           }
        :: continue_packet()
        fi
     :: else
     fi;
     packet++
  od;
  if
  :: chunk != NONE -> return_chunk()
  :: else
  fi
}

init {
  atomic {
    if
#ifdef ALL
    :: max_records = 1
#endif
    :: max_records = 2
    fi;
    run Writer(1, 1, PACKETS_OF_1);
    run Writer(2, PACKETS_OF_1 + 1, PACKETS)
  }
}
