// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Ten well-behaved producers, and beside them all that a bad neighbour may do,
// at once: see soak_attacks.cc. Processes of all kinds are killed at random,
// the service is killed or restarted every few seconds, and has too few
// descriptors, places, or memory to share. The well-behaved producers keep
// their connections, get their answers, and lose nothing that the ledger does
// not name. The service keeps to a bound of memory.
//
//   soak --seconds=3600 --seed=7

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/tracing/ipc/shared_memory_file.h"
#include "test/testing/flags.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/soak_state.h"

namespace protozero::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The longest time without an answer. A producer that waits longer for one
// hangs, and so does a service that takes longer to end. This measures no
// speed: answers take milliseconds where processors are free, and seconds where
// eighty programs want one.
constexpr std::chrono::milliseconds kMaxTimeWithoutAnswer{kTimeoutMs};

class SoakTest : public IpcTest {
 protected:
  SoakTest()
      : random_(Flag("seed", 1)),
        memory_(SharedMemoryFile::Create(sizeof(SoakState))),
        state_(new(memory_->start()) SoakState),
        producers_(kSoakProducers) {}
  ~SoakTest() override {
    for (const Producer& producer : producers_)
      Kill(producer.pid);
    for (const Attacker& attacker : attackers_)
      Kill(attacker.pid);
    Kill(service_);
  }

  void Start();
  // Kills processes at random for this time.
  void Run(std::chrono::milliseconds duration);
  // Waits, and kills no process meanwhile.
  void WaitUntil(const char* what, const std::function<bool()>& condition);
  void CloseService();
  void EndProducers();
  void WaitForAnswers();
  bool AllHaveAttacked() const;
  void Print() const;
  uint64_t packets_read() const { return packets_read_; }

 private:
  struct Producer {
    pid_t pid = -1;
    uint64_t answers_at_start = 0;
    uint64_t answers_seen = 0;
    SteadyClock::time_point answered_at = SteadyClock::now();
  };
  struct Attacker {
    size_t attack;
    pid_t pid;
  };

  // Makes a process that does not outlive this one.
  static pid_t Fork(const std::function<void()>& child);
  static void Kill(pid_t pid);

  void StartService();
  void KillService();
  void StartProducer(size_t slot);
  void OnProducerEnded(size_t slot);
  void KillProducer(size_t slot);
  void StartAttacker(Attacker* attacker);
  // Looks after all processes.
  void Tend();
  void MeasureService();
  void LimitMemory(bool limited);
  // Ends the pause, if there is one.
  void Resume();

  uint64_t Random(uint64_t limit) { return random_() % limit; }
  uint64_t NumAnswers(size_t slot) const {
    return state_->slots[slot].num_answers;
  }
  SoakReport& report() { return state_->reports[state_->life]; }
  // Calls |take(SoakAccount&)| for each account of this life of the service.
  template <typename Take>
  void ForEachAccount(size_t slot, Take take) {
    for (auto& accounts : state_->slots[slot].accounts)
      take(accounts[state_->life]);
  }

  std::mt19937_64 random_;
  const std::unique_ptr<SharedMemoryFile> memory_;
  SoakState* const state_;
  pid_t service_ = -1;
  std::vector<Producer> producers_;
  std::vector<Attacker> attackers_;
  bool memory_is_limited_ = false;
  // The producers that have ended in this life of the service, and the number
  // of their packets that the ledger may not know of.
  uint64_t num_ended_ = 0;
  uint64_t in_doubt_ = 0;

  uint64_t service_kills_ = 0;
  uint64_t service_closes_ = 0;
  uint64_t producer_kills_ = 0;
  uint64_t attacker_kills_ = 0;
  uint64_t without_memory_ = 0;
  uint64_t received_ = 0;
  // The counts of all lives of the service that had an orderly end.
  uint64_t packets_read_ = 0;
  uint64_t packets_in_doubt_ = 0;
  PacketLosses lost_;
  size_t max_service_bytes_ = 0;
};

pid_t SoakTest::Fork(const std::function<void()>& child) {
  fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
      child();
    _exit(0);
  }
  EXPECT_GT(pid, 0) << strerror(errno);
  return pid;
}

void SoakTest::Kill(pid_t pid) {
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void SoakTest::Start() {
  StartService();
  for (size_t slot = 0; slot < kSoakProducers; ++slot)
    StartProducer(slot);
  for (size_t attack = 0; attack < kNumSoakAttacks; ++attack) {
    for (size_t i = 0; i < kSoakAttacks[attack].num_processes; ++i)
      attackers_.push_back({attack, -1});
  }
  for (Attacker& attacker : attackers_)
    StartAttacker(&attacker);
}

void SoakTest::StartService() {
  ASSERT_LT(state_->life + 1, kMaxSoakLives) << "it has started too often";
  ++state_->life;
  num_ended_ = 0;
  in_doubt_ = 0;
  memory_is_limited_ = false;
  state_->service_ends = false;
  const SoakServiceOptions options{socket(), state_->life % 2 == 0, random_()};
  service_ = Fork([&] { RunSoakService(options, state_); });
}

// Kills the service: all that it had received is lost, and the ledger with it.
void SoakTest::KillService() {
  Kill(service_);
  service_ = -1;
  ++service_kills_;
  uint64_t begun = 0;
  for (size_t slot = 0; slot < kSoakProducers; ++slot)
    ForEachAccount(slot, [&](SoakAccount& it) { begun += it.begun; });
  EXPECT_LE(report().received, begun);
  EXPECT_EQ(report().errors, 0u);
  received_ += report().received;
}

// Ends the service. Everything is committed before, so the ledger has to be
// exact.
void SoakTest::CloseService() {
  const uint32_t pause = state_->life;
  state_->pause = pause;
  ASSERT_NO_FATAL_FAILURE(WaitUntil("all threads pause", [&] {
    return std::all_of(std::begin(state_->slots), std::end(state_->slots),
                       [&](const SoakSlot& slot) {
                         return std::count(std::begin(slot.paused),
                                           std::end(slot.paused),
                                           pause) == kSoakThreads;
                       });
  }));
  state_->service_ends = true;
  int status = 0;
  ASSERT_NO_FATAL_FAILURE(WaitUntil("the service ends", [&] {
    return waitpid(service_, &status, WNOHANG) == service_;
  }));
  service_ = -1;
  ASSERT_EQ(status, 0) << "the service";
  ++service_closes_;

  const SoakReport& ledger = report();
  EXPECT_TRUE(ledger.is_closed);
  EXPECT_EQ(ledger.errors, 0u);
  EXPECT_EQ(ledger.packets_read, ledger.received);
  EXPECT_EQ(ledger.packets_begun, ledger.received + ledger.lost.total());
  EXPECT_EQ(ledger.unknown_losses, 0u);
  EXPECT_EQ(ledger.abi_violations, 0u);
  uint64_t begun = 0;
  uint64_t lost[kNumWriterLossReasons] = {};
  for (size_t slot = 0; slot < kSoakProducers; ++slot) {
    ForEachAccount(slot, [&](SoakAccount& it) {
      begun += it.begun;
      for (size_t i = 0; i < kNumWriterLossReasons; ++i)
        lost[i] += it.lost[i];
    });
  }
  EXPECT_LE(ledger.packets_begun, begun);
  EXPECT_GE(ledger.packets_begun + in_doubt_, begun);
  const uint64_t threads_ended = num_ended_ * kSoakThreads;
  EXPECT_LE(ledger.lost.of(LossReason::kIncomplete), threads_ended);
  for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
    EXPECT_LE(ledger.lost.packets[i], lost[i] + threads_ended)
        << LossReasonToString(static_cast<LossReason>(i));
  }
  received_ += ledger.received;
  packets_read_ += ledger.packets_read;
  packets_in_doubt_ += begun - ledger.packets_begun;
  lost_.Add(ledger.lost);
}

void SoakTest::StartProducer(size_t slot) {
  Producer& producer = producers_[slot];
  producer.answers_at_start = NumAnswers(slot);
  producer.pid = Fork([this, slot, seed = random_()] {
    RunSoakProducer(socket(), slot, seed, state_);
  });
}

void SoakTest::OnProducerEnded(size_t slot) {
  producers_[slot].pid = -1;
  ++num_ended_;
  ForEachAccount(slot, [this](SoakAccount& it) {
    const uint64_t lost = it.total_lost();
    // The process may have begun one packet only in its own account, and may
    // have just lost another. The rest are its losses since its last commit.
    in_doubt_ += 2 + lost - it.reported;
    it.reported = lost;
  });
}

void SoakTest::KillProducer(size_t slot) {
  Kill(producers_[slot].pid);
  ++producer_kills_;
  OnProducerEnded(slot);
  StartProducer(slot);
}

void SoakTest::EndProducers() {
  state_->producers_end = true;
  for (Producer& producer : producers_) {
    int status = 0;
    EXPECT_EQ(waitpid(producer.pid, &status, 0), producer.pid);
    producer.pid = -1;
    EXPECT_EQ(status, 0);
  }
}

void SoakTest::StartAttacker(Attacker* attacker) {
  const size_t attack = attacker->attack;
  attacker->pid = Fork([this, attack, seed = random_()] {
    // This test is not about the share of the processors.
    setpriority(PRIO_PROCESS, 0, 10);
    kSoakAttacks[attack].attack(socket(), seed, &state_->num_attacks[attack]);
  });
}

void SoakTest::Tend() {
  int status = 0;
  for (size_t slot = 0; slot < kSoakProducers; ++slot) {
    Producer& producer = producers_[slot];
    if (producer.pid > 0 &&
        waitpid(producer.pid, &status, WNOHANG) == producer.pid) {
      ASSERT_TRUE(WIFEXITED(status)) << "a producer died: " << status;
      ASSERT_EQ(WEXITSTATUS(status),
                static_cast<int>(SoakProducerEnd::kNoMemory));
      ++without_memory_;
      OnProducerEnded(slot);
      StartProducer(slot);
    }
    const uint64_t answers = NumAnswers(slot);
    if (answers != producer.answers_seen) {
      producer.answers_seen = answers;
      producer.answered_at = SteadyClock::now();
    }
    ASSERT_LT(SteadyClock::now() - producer.answered_at, kMaxTimeWithoutAnswer)
        << "nobody has answered producer " << slot
        << ", which is off for reason " << state_->slots[slot].off_reason;
  }
  for (Attacker& attacker : attackers_) {
    ASSERT_EQ(waitpid(attacker.pid, &status, WNOHANG), 0)
        << kSoakAttacks[attacker.attack].what << ": " << status;
  }
  if (service_ > 0 && !state_->service_ends) {
    ASSERT_EQ(waitpid(service_, &status, WNOHANG), 0)
        << "the service died: " << status;
    MeasureService();
  }
}

void SoakTest::MeasureService() {
  size_t size = 0;
  size_t resident = 0;
  size_t shared = 0;
  const std::string path = "/proc/" + std::to_string(service_) + "/statm";
  FILE* const file = fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(fscanf(file, "%zu %zu %zu", &size, &resident, &shared), 3);
  fclose(file);
  const size_t bytes =
      (resident - shared) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  max_service_bytes_ = std::max(max_service_bytes_, bytes);
  if (kSoakLimitsMemory) {
    ASSERT_LE(bytes, kMaxSoakServiceBytes);
  }
}

// Sets or ends a limit of the size of files. With it, no producer gets memory.
void SoakTest::LimitMemory(bool limited) {
  memory_is_limited_ = limited;
  rlimit limit;
  ASSERT_EQ(prlimit(service_, RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = limited ? 4096 : limit.rlim_max;
  ASSERT_EQ(prlimit(service_, RLIMIT_FSIZE, &limit, nullptr), 0);
}

void SoakTest::Run(std::chrono::milliseconds duration) {
  const SteadyClock::time_point end = SteadyClock::now() + duration;
  // The longest life of the service. A short run has several lives, too.
  const auto max_life = static_cast<uint64_t>(
      std::min<std::chrono::milliseconds::rep>(duration.count() / 2, 7000));
  const auto end_of_life = [&] {
    return SteadyClock::now() +
           std::chrono::milliseconds(500 + Random(max_life + 1));
  };
  SteadyClock::time_point next_end = end_of_life();
  while (SteadyClock::now() < end) {
    ASSERT_NO_FATAL_FAILURE(Tend());
    usleep(static_cast<useconds_t>(Random(20000)));
    if (Random(30) == 0) {
      // A producer that has not come far is killed only now and then.
      const size_t slot = Random(kSoakProducers);
      if (NumAnswers(slot) != producers_[slot].answers_at_start ||
          Random(8) == 0) {
        KillProducer(slot);
      }
    }
    if (Random(60) == 0) {
      Attacker& attacker = attackers_[Random(attackers_.size())];
      Kill(attacker.pid);
      ++attacker_kills_;
      StartAttacker(&attacker);
    }
    if (Random(memory_is_limited_ ? 10 : 200) == 0)
      LimitMemory(!memory_is_limited_);
    if (SteadyClock::now() < next_end)
      continue;
    // Both ends come in lives with too few descriptors, and in lives with too
    // few places.
    if (state_->life % 4 == 2 || state_->life % 4 == 3)
      KillService();
    else
      ASSERT_NO_FATAL_FAILURE(CloseService());
    StartService();
    Resume();
    next_end = end_of_life();
  }
  if (memory_is_limited_)
    LimitMemory(false);
}

void SoakTest::Resume() {
  state_->pause = 0;
  for (Producer& producer : producers_)
    producer.answered_at = SteadyClock::now();
}

void SoakTest::WaitUntil(const char* what,
                         const std::function<bool()>& condition) {
  const auto deadline = SteadyClock::now() + kMaxTimeWithoutAnswer;
  while (!condition()) {
    ASSERT_LT(SteadyClock::now(), deadline) << "waiting until " << what;
    ASSERT_NO_FATAL_FAILURE(Tend());
    usleep(1000);
  }
}

void SoakTest::WaitForAnswers() {
  std::vector<uint64_t> before;
  for (size_t slot = 0; slot < kSoakProducers; ++slot)
    before.push_back(NumAnswers(slot));
  WaitUntil("all producers have answers", [&] {
    for (size_t slot = 0; slot < kSoakProducers; ++slot) {
      if (NumAnswers(slot) == before[slot])
        return false;
    }
    return true;
  });
}

bool SoakTest::AllHaveAttacked() const {
  return std::all_of(
      state_->num_attacks, state_->num_attacks + kNumSoakAttacks,
      [](const std::atomic<uint64_t>& number) { return number != 0; });
}

void SoakTest::Print() const {
  const auto number = [](uint64_t value) {
    return static_cast<unsigned long long>(value);
  };
  printf(
      "%llu packets received; the service was killed %llu times and ended "
      "%llu times, %llu producers and %llu attackers were killed, %llu "
      "producers found no memory\n",
      number(received_), number(service_kills_), number(service_closes_),
      number(producer_kills_), number(attacker_kills_),
      number(without_memory_));
  printf("Of services that ended: %llu packets received, lost:",
         number(packets_read_));
  for (size_t i = 0; i < kNumLossReasons; ++i) {
    if (lost_.packets[i] != 0) {
      printf(" %llu %s,", number(lost_.packets[i]),
             LossReasonToString(static_cast<LossReason>(i)));
    }
  }
  printf(" %llu with a process that was killed\n", number(packets_in_doubt_));
  uint64_t answers = 0;
  for (const std::atomic<uint64_t>& latency : state_->latencies)
    answers += latency;
  printf("Commits were answered");
  for (const double part : {0.5, 0.9, 0.99, 0.999}) {
    uint64_t sum = 0;
    size_t bucket = 0;
    while (bucket < SoakState::kLatencies &&
           static_cast<double>(sum) < part * static_cast<double>(answers))
      sum += state_->latencies[bucket++];
    printf(" %g %% in %.3f ms,", part * 100,
           static_cast<double>(uint64_t{1} << bucket) / 2000);
  }
  printf(" all %llu in %.3f ms\n", number(answers),
         static_cast<double>(state_->max_latency_us) / 1000);
  printf("The service had %zu KB of its own", max_service_bytes_ / 1024);
  if (kSoakLimitsMemory)
    printf(", of %zu KB at most", kMaxSoakServiceBytes / 1024);
  printf(
      "; it was without a descriptor for %llu turns, refused %llu places, and "
      "had no memory for %llu producers\n",
      number(state_->turns_without_descriptor), number(state_->places_refused),
      number(state_->producers_without_memory));
  for (size_t i = 0; i < kNumSoakAttacks; ++i) {
    printf("  %10llu x %s\n", number(state_->num_attacks[i]),
           kSoakAttacks[i].what);
  }
}

TEST_F(SoakTest, BadNeighboursCostTheWellBehavedNothing) {
  const auto duration = std::chrono::seconds(Flag("seconds", 60));
  Start();
  ASSERT_NO_FATAL_FAILURE(Run(duration));
  // In a short run, all answers may have come from services that were killed.
  ASSERT_NO_FATAL_FAILURE(WaitForAnswers());
  ASSERT_NO_FATAL_FAILURE(
      WaitUntil("all have attacked", [&] { return AllHaveAttacked(); }));
  ASSERT_NO_FATAL_FAILURE(CloseService());
  EndProducers();
  Print();
  EXPECT_NE(packets_read(), 0u);
}

}  // namespace
}  // namespace protozero::test
