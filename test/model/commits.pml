/* Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
 *
 * How threads queue finished chunks and patches, and how one of them commits
 * for all, in src/tracing/writer/shared_memory_arbiter.cc. README.md says what is
 * checked. A chunk that was committed is free, and may be queued again, by any
 * thread, before the others have noticed.
 */

/* One of these makes one mistake: see README.md. */
#ifdef NON_ATOMIC_PUSH
#define PUSH(head, next, item) ok = head == next[item]; if \
  :: ok -> head = item \
  :: else -> next[item] = head \
  fi
#else
#define PUSH(head, next, item) d_step { \
    ok = head == next[item]; \
    if \
    :: ok -> head = item \
    :: else -> next[item] = head \
    fi \
  }
#endif
#ifdef TAKE_CHUNKS_FIRST
#define TAKE take_chunks(); take_patches()
#else
#define TAKE take_patches(); take_chunks()
#endif
#ifdef SEND_ONCE
#define IS_LAST_REQUEST true
#else
#define IS_LAST_REQUEST (flush_requests == seen)
#endif
#ifdef WAIT_FOR_ONE_ROUND
#define ROUNDS_TO_WAIT 1
#else
#define ROUNDS_TO_WAIT 2
#endif

#define THREADS 2
#define CHUNKS 2
#ifdef ALL
#define TO_QUEUE(thread) 2
#else
#define TO_QUEUE(thread) (2 - (thread))
#endif
#define NONE 255

/* Two stacks, threaded through arrays: of chunks, and of patches, of which each
 * thread has one. */
byte finished_chunks = NONE;
byte next_chunk[CHUNKS];
byte finished_patches = NONE;
byte next_patch[THREADS];
byte flush_requests;
byte flush_rounds;

bit is_free[CHUNKS] = 1;

/* Only to check with. */
byte thread_of[CHUNKS];
byte number_of[CHUNKS];
byte sent[THREADS];           /* How many of its chunks. */
byte patch_of[THREADS];       /* The number of the chunk; 0 if it was sent. */
bit is_sending;

inline take_patches() {
  d_step { patch = finished_patches; finished_patches = NONE }
}

inline take_chunks() {
  d_step { newest = finished_chunks; finished_chunks = NONE }
}

/* As SharedMemoryArbiter::SendQueued(). */
inline send_queued() {
  d_step { assert(!is_sending); is_sending = 1 };
  TAKE;
  /* Oldest first. */
  oldest = NONE;
  do
  :: newest != NONE ->
     after = next_chunk[newest];
     next_chunk[newest] = oldest;
     d_step { oldest = newest; newest = after; after = 0 }
  :: else -> break
  od;
  do
  :: oldest != NONE ->
     after = next_chunk[oldest];
     d_step {
       assert(!is_free[oldest]);
       assert(number_of[oldest] == sent[thread_of[oldest]] + 1);
       sent[thread_of[oldest]]++;
       is_free[oldest] = 1;
       oldest = after;
       after = 0
     }
  :: else -> break
  od;
  do
  :: patch != NONE ->
     after = next_patch[patch];
     d_step {
       assert(patch_of[patch] != 0 && patch_of[patch] <= sent[patch]);
       patch_of[patch] = 0;
       patch = after;
       after = 0
     }
  :: else -> break
  od;
  is_sending = 0
}

/* As SharedMemoryArbiter::FlushPendingCommitDataRequests(). */
inline flush() {
  d_step { ok = flush_requests == 0; flush_requests++ };
  if
  :: ok ->
     seen = 1;
     do
     :: send_queued();
        flush_rounds++;
        d_step {
          ok = IS_LAST_REQUEST;
          if
          :: ok -> flush_requests = 0
          :: else -> seen = flush_requests
          fi
        };
        if
        :: ok -> break
        :: else
        fi
     od
  :: else
  fi;
  seen = 0
}

inline queue_chunk() {
  /* A chunk that was not committed cannot become free. */
  if
  :: !is_free[0] && !is_free[1] -> flush()
  :: else
  fi;
  atomic {
    if
    :: is_free[0] -> chunk = 0
    :: is_free[1] -> chunk = 1
    fi;
    is_free[chunk] = 0
  };
  d_step { number++; thread_of[chunk] = me; number_of[chunk] = number };
  next_chunk[chunk] = finished_chunks;
  do
  :: PUSH(finished_chunks, next_chunk, chunk);
     if
     :: ok -> break
     :: else
     fi
  od;
  chunk = 0
}

inline queue_patch() {
  d_step { assert(patch_of[me] == 0); patch_of[me] = number };
  next_patch[me] = finished_patches;
  do
  :: PUSH(finished_patches, next_patch, me);
     if
     :: ok -> break
     :: else
     fi
  od;
  flush()
}

proctype Thread(byte me) {
  byte number, chunk, rounds, seen, after;
  byte newest = NONE, oldest = NONE, patch = NONE;
  bool ok;
  do
  :: number < TO_QUEUE(me) ->
     queue_chunk();
     if
     :: flush()
     :: patch_of[me] == 0 -> queue_patch()
     :: true
     fi
  :: else -> break
  od;
  /* As SharedMemoryArbiter::FlushPendingCommitDataRequestsAndWait(). */
  rounds = flush_rounds;
  flush();
  (flush_requests == 0 || flush_rounds - rounds >= ROUNDS_TO_WAIT);
  assert(sent[me] == TO_QUEUE(me) && patch_of[me] == 0)
}

init {
  atomic {
    run Thread(0);
    run Thread(1)
  }
}
