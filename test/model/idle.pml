/* Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
 *
 * How the chunk of a writer that does nothing is taken from it, in
 * src/tracing/writer/trace_writer_reclaim.cc: a writer, and a thread that
 * returns idle chunks as often as it likes. README.md says what is checked.
 *
 * What the writer stores goes through a buffer, as on real processors: others
 * see it later, in the same order, or when a barrier empties the buffer.
 */

/* One of these makes one mistake: see README.md. */
#ifdef NO_BARRIER
#define PROCESS_BARRIER skip
#else
#define PROCESS_BARRIER buffered == 0
#endif
#ifdef COMPARE_PARITY
#define IS_UNDISTURBED(now) ((now) % RECLAIM_STEP == 0)
#else
#define IS_UNDISTURBED(now) ((now) == seen)
#endif
#ifdef DO_NOT_WAIT
#define MAY_ENTER true
#else
#define MAY_ENTER (reclaims % RECLAIM_STEP == 0)
#endif
#ifdef TAKE_ANYWAY
#define HAS_BEGUN true
#else
#define HAS_BEGUN (reclaims % RECLAIM_STEP == RECLAIM_BEGUN)
#endif
#ifdef IDLE_BEFORE_COUNT
#define FINISH_PACKET store(STATE, next); store(PACKETS, count)
#else
#define FINISH_PACKET store(PACKETS, count); store(STATE, next)
#endif

#ifdef ALL
#define TO_WRITE 6
#define TO_RECLAIM 4
#else
#define TO_WRITE 4
#define TO_RECLAIM 3
#endif
#define MAX_PACKETS 2  /* In a chunk. */
#define MAX_CHUNKS 8

/* PacketState. */
#define NONE 0
#define READY 1
#define BUSY 2
#define NARROW 3

/* The states of |reclaims|. */
#define RECLAIM_BEGUN 1
#define TAKING_CHUNK 2
#define RECLAIM_STEP 4

/* The writer's fields: memory[], and what of it is on its way there. */
#define STATE 0
#define CHUNK 1        /* Its id, from 1; 0 if there is none. */
#define PACKETS 2
byte memory[3];
#define MAX_BUFFERED 3
byte buffered_field[MAX_BUFFERED];
byte buffered_value[MAX_BUFFERED];
byte buffered;
byte reclaims;
byte reclaims_left = TO_RECLAIM;

/* Only to check with. */
bool is_taken[MAX_CHUNKS];
byte last_sent;
byte packets_sent;
bool writer_is_done;

inline store(field, value) {
  atomic {
    buffered < MAX_BUFFERED;
    buffered_field[buffered] = field;
    buffered_value[buffered] = value;
    buffered++
  }
}

/* What the writer itself sees. */
inline load(field, value) {
  d_step {
    value = memory[field];
    i = 0;
    do
    :: i < buffered ->
       if
       :: buffered_field[i] == field -> value = buffered_value[i]
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* The service gets a chunk, of which |count| packets are in. */
inline send(id, count) {
  d_step {
    assert(!is_taken[id]);
    is_taken[id] = true;
    assert(last_sent < id);
    last_sent = id;
    packets_sent = packets_sent + count
  }
}

/* As TraceWriter::Enter(). */
inline enter() {
  store(STATE, BUSY);
  if
  :: atomic {
       reclaims % RECLAIM_STEP == RECLAIM_BEGUN ->
       reclaims = reclaims - RECLAIM_BEGUN + RECLAIM_STEP;
       seen = reclaims
     }
  :: atomic { MAY_ENTER -> seen = reclaims }
  fi
}

inline finish_chunk() {
  load(PACKETS, count);
  store(CHUNK, 0);
  store(PACKETS, 0);
  send(chunk, count)
}

proctype Writer() {
  byte next = NONE, seen, now, written, chunk, count, last_chunk, i;
  bool is_here;
  do
  :: written == TO_WRITE -> break
  :: else ->
     is_here = false;
     /* As TraceWriter::BeginPacket(). */
     if
     :: next == READY ->
        store(STATE, NARROW);
        now = reclaims;
        if
        :: IS_UNDISTURBED(now) -> is_here = true
        :: else -> store(STATE, READY)
        fi
     :: else
     fi;
     if
     :: !is_here ->
        enter();
        load(CHUNK, chunk);
        if
        :: next == READY && chunk != 0
        :: else ->
           if
           :: chunk != 0 -> finish_chunk()
           :: else
           fi;
           last_chunk++;
           chunk = last_chunk;
           store(CHUNK, chunk)
        fi;
        store(STATE, NARROW)
     :: else
     fi;
     load(CHUNK, chunk);
     load(PACKETS, count);
     d_step {
       assert(chunk != 0 && !is_taken[chunk]);
       count++;
       written++;
       next = (count == MAX_PACKETS -> NONE : READY)
     };
     FINISH_PACKET
  od;
  enter();
  load(CHUNK, chunk);
  if
  :: chunk != 0 -> finish_chunk()
  :: else
  fi;
  store(STATE, NONE);
  buffered == 0;
  assert(packets_sent == TO_WRITE);
  writer_is_done = true
}

/* As SharedMemoryArbiter::ReturnIdleChunks(). */
proctype Reclaimer() {
  byte chunk, count;
  bool is_taking;
end:
  do
  :: reclaims_left > 0 && memory[STATE] < BUSY && memory[CHUNK] != 0 ->
     reclaims_left--;
     reclaims = reclaims + RECLAIM_BEGUN;
     PROCESS_BARRIER;
     if
     :: memory[STATE] < BUSY ->
        atomic {
          is_taking = HAS_BEGUN;
          if
          :: is_taking -> reclaims = reclaims - RECLAIM_BEGUN + TAKING_CHUNK
          :: else
          fi
        }
     :: else ->
        is_taking = false;
        atomic {
          if
          :: HAS_BEGUN -> reclaims = reclaims - RECLAIM_BEGUN + RECLAIM_STEP
          :: else
          fi
        }
     fi;
     if
     :: is_taking ->
        chunk = memory[CHUNK];
        if
        :: chunk != 0 ->
           count = memory[PACKETS];
           memory[CHUNK] = 0;
           memory[PACKETS] = 0;
           send(chunk, count)
        :: else
        fi;
        reclaims = reclaims - TAKING_CHUNK + RECLAIM_STEP
     :: else
     fi
  od
}

/* Carries out what is buffered, at any time. */
proctype Memory() {
  byte i;
end:
  do
  :: d_step {
       buffered > 0 ->
       memory[buffered_field[0]] = buffered_value[0];
       i = 1;
       do
       :: i < buffered ->
          buffered_field[i - 1] = buffered_field[i];
          buffered_value[i - 1] = buffered_value[i];
          i++
       :: else -> break
       od;
       buffered--;
       buffered_field[buffered] = 0;
       buffered_value[buffered] = 0;
       i = 0
     }
  od
}

init {
  atomic {
    run Writer();
    run Reclaimer();
    run Memory()
  }
}
