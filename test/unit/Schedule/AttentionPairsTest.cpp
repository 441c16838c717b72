// The pairs of queries and keys that an attention computes.
#include "tpsp/Abi/Plan.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tpsp;

/// Compares the number of visible pairs with counting them.
TEST(AttentionCost, PairsUnderAMask) {
  for (int64_t queries : {1, 2, 5, 8})
    for (int64_t keys : {1, 3, 5, 11}) {
      AttentionWork work;
      work.heads = 3, work.queries = queries, work.keys = keys;
      EXPECT_EQ(work.pairs(), double(3 * queries * keys));
      work.causal = true;
      int64_t seen = 0;
      for (int64_t s = 0; s < queries; ++s)
        seen += std::min(s + 1, keys);
      EXPECT_EQ(work.pairs(), double(3 * seen)) << queries << " of " << keys;
    }
}

TEST(AttentionCost, PairsInAWindow) {
  for (int64_t queries : {1, 5, 8})
    for (int64_t keys : {8, 11})
      for (int64_t window : {1, 3, 8, 20}) {
        AttentionWork work;
        work.queries = queries, work.keys = keys;
        work.causal = true, work.window = window;
        int64_t seen = 0;
        for (int64_t s = 0; s < queries; ++s)
          seen += std::min({s + 1, keys, window});
        EXPECT_EQ(work.pairs(), double(seen))
            << queries << " of " << keys << " in " << window;
      }
}

/// Queries may start within a chunk.
TEST(AttentionCost, PairsInChunks) {
  for (int64_t start : {0, 3, 8})
    for (int64_t chunk : {1, 3, 8, 20})
      for (int64_t window : {0, 2, 30}) {
        AttentionWork work;
        work.queries = 9, work.keys = 17, work.queryStart = start;
        work.causal = true, work.chunk = chunk, work.window = window;
        int64_t seen = 0;
        for (int64_t s = start; s < start + 9; ++s)
          seen += std::min(s % chunk + 1, window > 0 ? window : 17);
        EXPECT_EQ(work.pairs(), double(seen))
            << "from " << start << " in chunks of " << chunk
            << " and windows of " << window;
      }
}

/// Ranks that divide the queries together see as many pairs as one rank. The
/// last rank sees most, which is more than half of a rectangle.
TEST(AttentionCost, PairsOfQueriesThatAreDivided) {
  for (int64_t window : {0, 7, 40})
    for (int64_t ranks : {2, 3, 4}) {
      AttentionWork whole{{{true, window}}, 5, 36, 36, 8, 8};
      double sum = 0, largest = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        AttentionWork part = whole;
        part.queries = 36 / ranks;
        part.queryStart = rank * part.queries;
        EXPECT_GE(part.pairs(), largest);
        largest = part.pairs();
        sum += part.pairs();
      }
      EXPECT_EQ(sum, whole.pairs()) << ranks << " ranks, window " << window;
      if (window == 0) {
        EXPECT_NEAR(largest / whole.pairs(),
                    double(2 * ranks - 1) / double(ranks * ranks), 0.02);
      }
    }
}
