#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/isa.h"
#include "base/matrix_registers.h"

namespace thimble {
namespace {

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (int threads = 1; threads <= 5; ++threads) {
    for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 6, 17, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(threads, count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit.load(), 1) << threads << " threads, " << count << " indices";
    }
  }
}

TEST(Parallel, CallsEveryThreadOnceAndTellsTheirNumber) {
  for (int threads = 1; threads <= 5; ++threads) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(threads));
    std::atomic<int> wrong_counts = 0;
    parallel(threads, [&](int thread, int thread_count) {
      ++calls[static_cast<std::size_t>(thread)];
      if (thread_count != threads) ++wrong_counts;
    });
    for (const auto& call : calls) EXPECT_EQ(call.load(), 1);
    EXPECT_EQ(wrong_counts.load(), 0);
  }
}

TEST(Parallel, WorkInsideWorkRunsPieceByPiece) {
  std::atomic<int> pieces = 0;
  parallel(3, [&](int, int) {
    int next = 0;
    parallel(4, [&](int thread, int threads) {
      if (thread == next++ && threads == 4) ++pieces;
    });
  });
  EXPECT_EQ(pieces.load(), 12);
}

TEST(Parallel, CallersDoNotDisturbEachOther) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        parallel_for(3, 100, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 200 * 100);
}

TEST(Parallel, NoThreadsMeansOne) {
  int calls = 0;
  parallel(0, [&](int thread, int threads) {
    ++calls;
    EXPECT_EQ(thread, 0);
    EXPECT_EQ(threads, 1);
  });
  EXPECT_EQ(calls, 1);
}

// All of [0, count), each index once, by as many threads as there are.
std::vector<Range> taken_by(Shares& shares, int threads, std::int64_t count) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  std::vector<std::vector<Range>> pieces(static_cast<std::size_t>(threads));
  parallel(threads, [&](int thread, int) {
    shares.take(thread, [&](Range piece) {
      pieces[static_cast<std::size_t>(thread)].push_back(piece);
      for (std::int64_t i = piece.begin; i < piece.end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
  });
  for (const auto& visit : visits) EXPECT_EQ(visit.load(), 1) << threads << " threads, " << count << " indices";
  std::vector<Range> all;
  for (const std::vector<Range>& own : pieces) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end(), [](Range a, Range b) { return a.begin < b.begin; });
  return all;
}

TEST(Shares, CoverEveryIndexOnceInPiecesThatShrink) {
  for (int threads = 1; threads <= 4; ++threads) {
    for (const std::int64_t grain : {1, 3, 14}) {
      for (const std::int64_t count : {0, 1, 13, 100, 1000, 12345}) {
        Shares shares(count, threads, grain);
        const std::vector<Range> pieces = taken_by(shares, threads, count);
        for (std::size_t k = 1; k < pieces.size(); ++k) {
          const std::int64_t size = pieces[k].end - pieces[k].begin, before = pieces[k - 1].end - pieces[k - 1].begin;
          const bool is_fixed = pieces.size() <= static_cast<std::size_t>(threads);
          EXPECT_TRUE(is_fixed || size <= before) << "piece " << k << " of " << count;
          EXPECT_TRUE(is_fixed || before % grain == 0) << "piece " << k - 1 << " of " << count;
        }
      }
    }
  }
}

TEST(Shares, AreFixedWhereAskedFor) {
  Shares shares(1000, 3, 1, true);
  const std::vector<Range> pieces = taken_by(shares, 3, 1000);
  ASSERT_EQ(pieces.size(), 3U);
  for (int part = 0; part < 3; ++part) {
    EXPECT_EQ(pieces[static_cast<std::size_t>(part)].begin, part_of(1000, part, 3).begin);
    EXPECT_EQ(pieces[static_cast<std::size_t>(part)].end, part_of(1000, part, 3).end);
  }
}

// A thread that is held up leaves the rest to the others.
TEST(Shares, OfASlowThreadFallToTheOther) {
  Shares shares(1000, 2, 1);
  std::int64_t first = 0, second = 0;
  shares.take(0, [&](Range piece) {
    first += piece.end - piece.begin;
    if (second == 0) shares.take(1, [&](Range other) { second += other.end - other.begin; });
  });
  EXPECT_EQ(first + second, 1000);
  EXPECT_EQ(first, 250);  // half of its share, then the other took all
}

TEST(PartOf, PiecesAreContiguousAndNearlyEqual) {
  for (const std::int64_t count : {0, 1, 7, 64, 1001}) {
    for (int parts = 1; parts <= 5; ++parts) {
      std::int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const Range range = part_of(count, part, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.end - range.begin, count / parts + 1);
        EXPECT_GE(range.end - range.begin, count / parts);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Isa, NamesReadBack) {
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16, Isa::neon})
    EXPECT_EQ(isa_from_name(name_of(isa)), isa);
  EXPECT_EQ(isa_from_name("sse9"), std::nullopt);
  EXPECT_EQ(detect_isa(), detect_isa());
}

// Faults, on most machines, and lives.
TEST(Isa, MatrixRegistersAreTriedWithoutHarm) {
  EXPECT_TRUE(has_matrix_registers() || !try_matrix_registers());
  EXPECT_EQ(has_matrix_registers() && includes(detect_isa(), Isa::avx512_bf16), detect_isa() == Isa::amx_bf16);
}

TEST(Isa, IncludesThoseBeforeItOnTheSameArchitecture) {
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16, Isa::neon}) {
    EXPECT_TRUE(includes(isa, isa));
    EXPECT_TRUE(includes(isa, Isa::generic));
    EXPECT_EQ(includes(isa, Isa::neon), isa == Isa::neon);
    EXPECT_EQ(includes(Isa::neon, isa), isa == Isa::generic || isa == Isa::neon);
  }
  EXPECT_TRUE(includes(Isa::avx512_bf16, Isa::avx2));
  EXPECT_FALSE(includes(Isa::avx2, Isa::avx512));
  EXPECT_TRUE(includes(kLargestIsa, detect_isa()));
}

}  // namespace
}  // namespace thimble
