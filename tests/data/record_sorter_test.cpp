#include "data/record_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "data/fake_files.h"

namespace thimble {
namespace {

using namespace test;

std::vector<std::string> sorted_by(const std::vector<std::string>& records, SorterLimits limits) {
  const TemporaryFolder folder;
  RecordSorter sorter({folder.path()}, "list", limits);
  for (const std::string& record : records) sorter.add(record);
  const InputFile file = std::move(sorter).finish();
  std::vector<std::string> found;
  for (RecordReader reader(file, 0, file.size()); reader.advance();) {
    RecordReader again(file, reader.offset(), file.size());
    EXPECT_TRUE(again.advance());
    EXPECT_EQ(again.record(), reader.record());
    found.emplace_back(reader.record());
  }
  EXPECT_EQ(folder.entry_count(), 0);
  return found;
}

std::vector<std::string> random_records(std::size_t count) {
  const RandomKey key = random_key(1, RandomPurpose::test, 0);
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string record(random_below(key, 3 * i, 60), 'x');
    for (std::size_t k = 0; k < record.size(); ++k) record[k] = static_cast<char>(random_below(key, 1000 * i + k, 256));
    records.push_back(record);
  }
  return records;
}

TEST(RecordSorter, SortsBytesInOnePieceOrInMany) {
  const std::vector<std::string> records = random_records(3000);
  std::vector<std::string> wanted = records;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(sorted_by(records, {}), wanted);
  EXPECT_EQ(sorted_by(records, {.piece_bytes = 500, .merged_at_once = 32}), wanted);
  EXPECT_EQ(sorted_by(records, {.piece_bytes = 500, .merged_at_once = 3}), wanted);
  EXPECT_EQ(sorted_by(records, {.piece_bytes = 1, .merged_at_once = 2}), wanted);
}

TEST(RecordSorter, KeepsTwinsEmptyRecordsAndTheLongest) {
  const std::string longest(kMostRecordBytes, 'z');
  EXPECT_EQ(sorted_by({"b", longest, "", "b", "a", longest, ""}, {.piece_bytes = 10, .merged_at_once = 2}),
            (std::vector<std::string>{"", "", "a", "b", "b", longest, longest}));
}

TEST(RecordSorter, NothingSortsToNothing) { EXPECT_TRUE(sorted_by({}, {}).empty()); }

}  // namespace
}  // namespace thimble
