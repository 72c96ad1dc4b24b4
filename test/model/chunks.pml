/* Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
 *
 * The chunk protocol of include/protozero/tracing/shared_memory_abi.h: a page of
 * two chunks, two writers of one producer, one service. README.md says what is
 * checked, and what this leaves out. Each step is one that the program takes on
 * a word of the shared memory; others may run between any two of them.
 *
 * A packet has two halves. It is in one chunk, or has its first half at the end
 * of one and its second half at the beginning of the next. Then the second half
 * of the first record stands for the sizes that are not known yet: it is zero
 * until it is patched. So a record is torn if its halves differ.
 */

/* One of these makes one mistake: see README.md. */
#ifdef NON_ATOMIC_ACQUIRE
#define ACQUIRING_SWAP(new_word) \
  ok = page_word == word; \
  if \
  :: ok -> page_word = new_word \
  :: else -> word = page_word \
  fi
#else
#define ACQUIRING_SWAP(new_word) compare_and_swap(new_word)
#endif
#ifdef COUNT_BEFORE_WRITING
#define COUNT_EARLY chunks[chunk].packets.count = records + 2
#else
#define COUNT_EARLY skip
#endif
#ifdef KEEP_HEADER
#define ZERO_HEADER(c) skip
#else
#define ZERO_HEADER(c) zero_header(c)
#endif
#ifdef KEEP_LAYOUT
#define EMPTY_PAGE PARTITIONED
#else
#define EMPTY_PAGE 0
#endif
#ifdef FREE_BEFORE_COPY
#define COPY_AND_FREE(c) free_chunk(c); copy_chunk(c)
#else
#define COPY_AND_FREE(c) copy_chunk(c); free_chunk(c)
#endif
#ifdef SCRAPE_ALL_PACKETS
#define UNTRUSTED 0
#else
#define UNTRUSTED 1
#endif
#ifdef SCRAPE_NOTHING
#define MIN_COUNT NONE
#else
#define MIN_COUNT 2
#endif
#ifdef IGNORE_NEEDS_PATCHING
#define IS_WITHHELD(copy) false
#else
#define IS_WITHHELD(copy) copy.packets.needs_patching
#endif
#ifdef KEEP_CHUNK_WHILE_WAITING
#define MAY_WAIT_WITH_CHUNK true
#else
#define MAY_WAIT_WITH_CHUNK false
#endif

#define WRITERS 2
#define WRITER_OF(packet) (1 + ((packet) > packets_of_1))
#define CHUNKS 2
#define MAX_RECORDS 2
#define MAX_PACKETS 4
#define IDS 4      /* More than a writer uses. */
#define NONE 255
#define SERVICE 254

/* The page's word: the layout, above the states of the chunks. */
#define FREE 0
#define WRITTEN 1
#define READ 2
#define COMPLETE 3
#define DIV2 2
#define PARTITIONED 32  /* DIV2, and all chunks free. */
#define LAYOUT(word) ((word) >> 4)
#define STATE(word, c) (((word) >> (2 * (c))) & 3)
#define WITH_STATE(word, c, s) \
  (((word) & (255 - (3 << (2 * (c))))) | ((s) << (2 * (c))))

typedef Record {
  byte first;   /* The number of the packet; 0 for an empty one. */
  byte second;
}

/* The "packets" word, which is loaded and stored in one step. */
typedef Packets {
  byte count;
  bit continues;       /* The first record, from the chunk before. */
  bit goes_on;         /* The last record, on the next chunk. */
  bit needs_patching;
}

typedef Chunk {
  Packets packets;
  Record records[MAX_RECORDS + 1];  /* One more, for the empty packet. */
}

/* The shared memory: the page's word, and of each chunk its writer, 1 and up or
 * 0 for none, its id, and the rest. */
byte page_word;
byte writers[CHUNKS];
byte ids[CHUNKS];
Chunk chunks[CHUNKS];

/* The service's buffer. A chunk that is not there has no packets. */
Chunk copies[WRITERS * IDS];
#define INDEX(writer, id) (((writer) - 1) * IDS + (id))

/* The connection. What a producer has sent arrives, whether or not it lives. */
mtype = { move, patch };
chan requests = [2] of { mtype, byte, byte };
byte writers_done;

/* What init chooses. */
byte packets_of_1 = 2, packets_of_2 = 1;
byte max_records = 2;  /* Packets for which a chunk has room. */
byte max_scrapes = 0;
bool stalls = true;    /* Otherwise packets are lost if there is no chunk. */
bool can_die = true;

/* The rest is only there to check with. */
byte owner[CHUNKS];
bit must_arrive[MAX_PACKETS + 1];
bit is_dropped[MAX_PACKETS + 1];

inline copy_packets(to, from) {
  to.count = from.count;
  to.continues = from.continues;
  to.goes_on = from.goes_on;
  to.needs_patching = from.needs_patching
}

/* Compares with, and in case of failure loads, |word|. */
inline compare_and_swap(new_word) {
  d_step {
    ok = page_word == word;
    if
    :: ok -> page_word = new_word
    :: else -> word = page_word
    fi
  }
}

#define SIBLING_IS_FREE(word, c) (STATE(word, 1 - (c)) == FREE)

/* As SharedMemoryABI::ChangeState(). */
inline change_state(c, from, to) {
  word = page_word;
  do
  :: assert(LAYOUT(word) == DIV2 && STATE(word, c) == from);
     compare_and_swap((to == FREE && SIBLING_IS_FREE(word, c) ->
                          EMPTY_PAGE : WITH_STATE(word, c, to)));
     if
     :: ok -> break
     :: else
     fi
  od;
  word = 0
}

/* As SharedMemoryArbiter::TryAcquireChunk(). Sets |c|, perhaps to NONE. */
inline try_acquire(c) {
  word = page_word;
  if
  :: word == 0 -> compare_and_swap(PARTITIONED); word = page_word
  :: else
  fi;
  do
  :: LAYOUT(word) != DIV2 -> c = NONE; break
  :: else ->
     if
     :: STATE(word, 0) == FREE -> c = 0
     :: STATE(word, 0) != FREE && STATE(word, 1) == FREE -> c = 1
     :: else -> c = NONE; break
     fi;
     ACQUIRING_SWAP(WITH_STATE(word, c, WRITTEN));
     if
     :: ok -> d_step { assert(owner[c] == 0); owner[c] = me }; break
     :: else
     fi
  od;
  word = 0
}

#define MAY_ACQUIRE \
  (page_word == 0 || LAYOUT(page_word) == DIV2 && \
   (STATE(page_word, 0) == FREE || STATE(page_word, 1) == FREE))

/* As SharedMemoryArbiter::WaitForChunk(), which does not try before it may
 * succeed. */
inline wait_for_chunk() {
  do
  :: chunk == NONE -> MAY_ACQUIRE; try_acquire(chunk)
  :: else -> break
  od
}

/* As TraceWriter::StartChunk(). */
inline start_chunk(is_continued) {
  writers[chunk] = me;
  ids[chunk] = next_id;
  d_step {
    chunks[chunk].packets.count = 1;
    chunks[chunk].packets.continues = is_continued;
    chunks[chunk].packets.goes_on = 0;
    chunks[chunk].packets.needs_patching = 0;
    records = 0;
    next_id++
  }
}

inline complete_and_send(c) {
  d_step { assert(owner[c] == me); owner[c] = 0 };
  change_state(c, WRITTEN, COMPLETE);
  requests!move(c, 0)
}

inline return_chunk() {
  /* In place of the packet that was announced and did not come. */
  d_step {
    chunks[chunk].records[records].first = 0;
    chunks[chunk].records[records].second = 0
  };
  complete_and_send(chunk);
  chunk = NONE
}

/* |is_safe| is whether it will arrive from now on, whatever happens. */
inline count_packet(is_safe) {
  d_step {
    records++;
    chunks[chunk].packets.count = records + 1;
    must_arrive[packet] = is_safe
  }
}

/* The packet does not fit. As TraceWriter::GetNewBuffer(). */
inline continue_packet() {
  try_acquire(next);
  if
  :: next == NONE && !stalls ->
     /* A drop marker takes the place of what was written. */
     d_step {
       chunks[chunk].records[records].first = 0;
       chunks[chunk].records[records].second = 0;
       is_dropped[packet] = 1;
       records++
     };
     return_chunk()
  :: else ->
     chunks[chunk].packets.goes_on = 1;
     if
     :: next != NONE || MAY_WAIT_WITH_CHUNK ->
        /* To be patched in place. */
        held = chunk;
        chunk = next
     :: true ->
        /* There is a limit to what is held. */
        chunks[chunk].packets.needs_patching = 1;
        complete_and_send(chunk);
        chunk = next
     fi;
     next = NONE;
     wait_for_chunk();
     start_chunk(1);
     chunks[chunk].records[0].first = packet;
     chunks[chunk].records[0].second = packet;
     count_packet(0);
     if
     :: held == NONE ->
        atomic { requests!patch(me, next_id - 2); must_arrive[packet] = 1 }
     :: else ->
        chunks[held].records[chunks[held].packets.count - 1].second = packet;
        complete_and_send(held);
        d_step { must_arrive[packet] = 1; held = NONE }
     fi
  fi
}

proctype Writer(byte me; byte packet; byte last_packet) {
  byte chunk = NONE, held = NONE, next = NONE;
  byte records, next_id, word;
  bool ok;
  do
  :: packet > last_packet -> break
  :: else ->
     if
     :: chunk != NONE && records == max_records -> return_chunk()
     :: else
     fi;
     if
     :: chunk == NONE ->
        try_acquire(chunk);
        if
        :: stalls -> wait_for_chunk()
        :: else
        fi;
        if
        :: chunk == NONE -> is_dropped[packet] = 1
        :: else -> start_chunk(0)
        fi
     :: else
     fi;
     if
     :: chunk != NONE ->
        COUNT_EARLY;
        chunks[chunk].records[records].first = packet;
        chunks[chunk].records[records].second = 0;
        if
        :: chunks[chunk].records[records].second = packet;
           count_packet(1)
        :: continue_packet()
        fi
     :: else
     fi;
     packet++
  od;
  if
  :: chunk != NONE -> return_chunk()
  :: else
  fi;
  writers_done++
}

inline zero_header(c) {
  writers[c] = 0;
  ids[c] = 0;
  d_step {
    chunks[c].packets.count = 0;
    chunks[c].packets.continues = 0;
    chunks[c].packets.goes_on = 0;
    chunks[c].packets.needs_patching = 0
  }
}

/* So that they do not tell states apart that are the same. */
inline forget_packets() {
  packets.count = 0;
  packets.continues = 0;
  packets.goes_on = 0;
  packets.needs_patching = 0
}

/* It is complete, or said not to be; and it is this writer's. */
inline check_record(chunk, w, r) {
  assert(chunk.records[r].first == chunk.records[r].second ||
         chunk.packets.needs_patching && r + 1 == chunk.packets.count);
  assert(chunk.records[r].first == 0 || WRITER_OF(chunk.records[r].first) == w)
}

/* As many records as |packets| says. */
inline copy_chunk(c) {
  d_step {
    writer = writers[c];
    assert(1 <= writer && writer <= WRITERS && ids[c] < IDS);
    copy = INDEX(writer, ids[c]);
    /* There may be more than the last time, not less. */
    assert(copies[copy].packets.count <= packets.count);
    copy_packets(copies[copy].packets, packets)
  };
  do
  :: record < packets.count ->
     copies[copy].records[record].first = chunks[c].records[record].first;
     d_step {
       copies[copy].records[record].second = chunks[c].records[record].second;
       check_record(copies[copy], writer, record);
       record++
     }
  :: else ->
     d_step { forget_packets(); record = 0; writer = 0; copy = 0 };
     break
  od
}

inline free_chunk(c) {
  ZERO_HEADER(c);
  d_step { assert(owner[c] == SERVICE); owner[c] = 0 };
  change_state(c, READ, FREE)
}

inline drain(c) {
  change_state(c, COMPLETE, READ);
  d_step {
    assert(owner[c] == 0);
    owner[c] = SERVICE;
    copy_packets(packets, chunks[c].packets)
  };
  COPY_AND_FREE(c)
}

/* What is there of a chunk that is not committed, if anything. */
#define CAN_BE_SCRAPED(state, count) \
  (state == COMPLETE || state == WRITTEN && count >= MIN_COUNT)

/* Whose last packet, if it is still being written, is not to be trusted. */
inline distrust(header, state) {
  if
  :: state == WRITTEN ->
     header.count = header.count - UNTRUSTED;
     header.goes_on = 0;
     header.needs_patching = 0
  :: else
  fi
}

/* Changes nothing in the shared memory. */
inline scrape(c) {
  word = page_word;
  d_step {
    word = (LAYOUT(word) == DIV2 -> STATE(word, c) : FREE);
    copy_packets(packets, chunks[c].packets)
  };
  if
  :: CAN_BE_SCRAPED(word, packets.count) ->
     d_step { distrust(packets, word); word = 0 };
     copy_chunk(c)
  :: else ->
     d_step { forget_packets(); word = 0 }
  fi
}

/* The trace, if the producer dies now: what is on its way arrives, the rest is
 * scraped. Its steps cannot be told apart, and nothing that comes later
 * depends on it: it is one step, and its variables are not part of the state. */
hidden Chunk final[WRITERS * IDS];
hidden byte arrived[MAX_PACKETS + 1];
hidden byte i, k, n, w, last, head, state, number;
hidden mtype what;

inline copy_records(to, from) {
  copy_packets(to.packets, from.packets);
  k = 0;
  do
  :: k <= MAX_RECORDS ->
     to.records[k].first = from.records[k].first;
     to.records[k].second = from.records[k].second;
     k++
  :: else -> break
  od
}

/* The packets of the writer |w|. */
inline read_out() {
  last = 0;
  head = 0;
  n = INDEX(w, 0);
  do
  :: n < INDEX(w, IDS) ->
     k = 0;
     do
     :: k < final[n].packets.count ->
        check_record(final[n], w, k);
        number = final[n].records[k].first;
        if
        :: k == 0 && final[n].packets.continues && number != head ->
           /* The rest of a packet that is lost. */
           number = 0
        :: else
        fi;
        head = 0;
        if
        :: k + 1 == final[n].packets.count && final[n].packets.goes_on ->
           if
           :: IS_WITHHELD(final[n])
           :: else ->
              assert(final[n].records[k].first == final[n].records[k].second);
              head = number
           fi
        :: else ->
           if
           :: number != 0 ->
              assert(number > last);
              last = number;
              arrived[number]++
           :: else
           fi
        fi;
        k++
     :: else -> break
     od;
     if
     :: final[n].packets.count == 0 -> head = 0
     :: else
     fi;
     n++
  :: else -> break
  od
}

inline check_trace() {
  i = 0;
  do
  :: i < WRITERS * IDS -> copy_records(final[i], copies[i]); i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < CHUNKS ->
     state = (LAYOUT(page_word) == DIV2 -> STATE(page_word, i) : FREE);
     /* Whoever owns a chunk is who its state says. */
     assert(owner[i] == 0 ||
            state == (owner[i] == SERVICE -> READ : WRITTEN));
     if
     :: CAN_BE_SCRAPED(state, chunks[i].packets.count) ->
        w = writers[i];
        assert(1 <= w && w <= WRITERS && ids[i] < IDS);
        n = INDEX(w, ids[i]);
        copy_records(final[n], chunks[i]);
        distrust(final[n].packets, state)
     :: else
     fi;
     i++
  :: else -> break
  od;
  /* Around once, which leaves the requests as they were. */
  i = len(requests);
  do
  :: i > 0 ->
     requests?what,w,n;
     requests!what,w,n;
     if
     :: what == patch -> apply_patch(final[INDEX(w, n)])
     :: else
     fi;
     i--
  :: else -> break
  od;
  w = 1;
  do
  :: w <= packets_of_1 + packets_of_2 -> arrived[w] = 0; w++
  :: else -> break
  od;
  w = 1;
  do
  :: w <= WRITERS -> read_out(); w++
  :: else -> break
  od;
  w = 1;
  do
  :: w <= packets_of_1 + packets_of_2 ->
     assert(arrived[w] <= 1);
     assert(arrived[w] == 1 || !must_arrive[w]);
     w++
  :: else -> break
  od;
  w = 0
}

inline apply_patch(chunk) {
  assert(chunk.packets.count != 0 && chunk.packets.needs_patching);
  chunk.records[chunk.packets.count - 1].second =
      chunk.records[chunk.packets.count - 1].first;
  chunk.packets.needs_patching = 0
}

proctype Service() {
  byte c, word, writer, id, record, copy;
  byte scrapes;
  bool ok;
  Packets packets;
  do
  :: requests?move,c,_ -> drain(c); c = 0
  :: requests?patch,writer,id ->
     d_step { apply_patch(copies[INDEX(writer, id)]); writer = 0; id = 0 }
  :: scrapes < max_scrapes && writers_done < WRITERS ->
     scrapes++;
     scrape(0);
     scrape(1)
  :: writers_done == WRITERS && empty(requests) -> break
    :: can_die -> d_step { check_trace() }
  od;
  skip;
  d_step {
    check_trace();
    i = 1;
    do
    :: i <= packets_of_1 + packets_of_2 -> assert(must_arrive[i] != is_dropped[i]); i++
    :: else -> break
    od;
    assert(page_word == 0)
  }
}

/* Small numbers, and one thing at a time that takes more states. */
init {
  atomic {
    if
#if defined(LIVES)
    :: can_die = false; packets_of_1 = 1
#elif defined(DIES)
    :: true
#elif defined(ALL)
    :: max_scrapes = 1
    :: max_scrapes = 1; max_records = 1
    :: max_scrapes = 1; stalls = false
    :: max_scrapes = 2; packets_of_1 = 1
    :: packets_of_2 = 2
    :: can_die = false; max_scrapes = 1
#else
    :: true
    :: max_scrapes = 1; packets_of_1 = 1
    :: stalls = false
    :: can_die = false; packets_of_1 = 1
#endif
    fi;
    run Service();
    run Writer(1, 1, packets_of_1);
    run Writer(2, packets_of_1 + 1, packets_of_1 + packets_of_2)
  }
}
