#include "ExchangePacing.h"

#include <gtest/gtest.h>

using namespace tpsp::rt;
using namespace std::chrono_literals;

namespace {

using Duration = ExchangePacing::Duration;

struct Outcome {
  int looks = 0;
  /// The time from the last arrival to the poll that noticed it.
  Duration delay{};
};

/// Runs an exchange whose last message arrives after `duration`.
Outcome run(ExchangePacing &pacing, int64_t bytes, Duration duration) {
  Outcome outcome;
  pacing.begin(bytes);
  Duration now{};
  while (++outcome.looks, now < duration)
    now += pacing.pauseAfter(now);
  pacing.end(now);
  outcome.delay = now - duration;
  return outcome;
}

constexpr int64_t bytes = 2 << 20;

TEST(ExchangePacing, AnUnknownLinkIsLookedAtOften) {
  ExchangePacing pacing;
  Outcome first = run(pacing, bytes, 45ms);
  EXPECT_LT(first.delay, 45ms / 30);
  EXPECT_GT(first.looks, 100);
}

TEST(ExchangePacing, AKnownLinkIsLookedAtSeldom) {
  ExchangePacing pacing;
  int first = run(pacing, bytes, 45ms).looks;
  for (int i = 0; i < 10; ++i) {
    Outcome later = run(pacing, bytes, 45ms);
    EXPECT_LT(later.looks, first / 2);
    EXPECT_LT(later.delay, 45ms / 30);
  }
}

TEST(ExchangePacing, NoMoreThanBuffersTakeIsExpectedBetweenTwoLooks) {
  ExchangePacing pacing;
  run(pacing, 64 << 20, 1s);
  pacing.begin(64 << 20);
  for (Duration waited = 0ms; waited < 1s; waited += 10ms)
    EXPECT_LT(pacing.pauseAfter(waited), 1050us);
}

/// An exchange that its own pause made slow must not count as a slow link.
TEST(ExchangePacing, AFastLinkIsNotHeldUp) {
  ExchangePacing pacing;
  for (int i = 0; i < 20; ++i)
    run(pacing, bytes, 45ms);
  Outcome last;
  for (int i = 0; i < 20; ++i)
    last = run(pacing, bytes, 2ms);
  EXPECT_LT(last.delay, 200us);
}

TEST(ExchangePacing, ASlowerLinkIsBelievedInTime) {
  ExchangePacing pacing;
  for (int i = 0; i < 5; ++i)
    run(pacing, bytes, 2ms);
  int first = run(pacing, bytes, 45ms).looks;
  Outcome last;
  for (int i = 0; i < 40; ++i)
    last = run(pacing, bytes, 45ms);
  EXPECT_LT(last.looks, first);
  EXPECT_LT(last.delay, 45ms / 30);
}

/// A rank that is late does not count as a slow link.
TEST(ExchangePacing, LatenessOfAnotherRankIsNotFelt) {
  ExchangePacing pacing;
  for (int i = 0; i < 5; ++i)
    run(pacing, bytes, 10ms);
  Outcome late = run(pacing, bytes, 200ms);
  EXPECT_LE(late.delay, 1ms);
  EXPECT_LT(run(pacing, bytes, 10ms).delay, 500us);
}

TEST(ExchangePacing, ShortMessagesSayNothingOfTheLink) {
  ExchangePacing pacing;
  run(pacing, bytes, 45ms);
  for (int i = 0; i < 50; ++i)
    EXPECT_LT(run(pacing, 4096, 300us).delay, 50us);
  EXPECT_LT(run(pacing, bytes, 45ms).looks, 70);
}

TEST(ExchangePacing, EveryPauseIsAMomentAndEnds) {
  ExchangePacing pacing;
  for (int64_t size :
       {int64_t(0), int64_t(1), int64_t(1) << 20, int64_t(1) << 40})
    for (Duration waited : {Duration(0), Duration(1ns), Duration(1h)}) {
      pacing.begin(size);
      EXPECT_GE(pacing.pauseAfter(waited), 10us);
      EXPECT_LE(pacing.pauseAfter(waited), 5ms);
      pacing.end(waited);
    }
}

} // namespace
