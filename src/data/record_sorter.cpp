#include "data/record_sorter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::size_t kLengthBytes = 2;

std::size_t length_at(const char* bytes) {
  return static_cast<std::uint8_t>(bytes[0]) | static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[1])) << 8;
}

std::string_view record_at(const char* bytes) { return {bytes + kLengthBytes, length_at(bytes)}; }

// Gathers small writes.
class RecordWriter {
 public:
  explicit RecordWriter(ScratchFile& file) : file_(file) {}

  void put(std::string_view record) {
    if (buffer_.size() - used_ < kLengthBytes + record.size()) flush();
    buffer_[used_] = static_cast<std::uint8_t>(record.size() & 0xff);
    buffer_[used_ + 1] = static_cast<std::uint8_t>(record.size() >> 8);
    std::memcpy(buffer_.data() + used_ + kLengthBytes, record.data(), record.size());
    used_ += kLengthBytes + record.size();
  }
  std::int64_t flush() {  // bytes written by now
    file_.append(std::span(buffer_).first(used_));
    written_ += static_cast<std::int64_t>(used_);
    used_ = 0;
    return written_;
  }
  std::int64_t bytes() const { return written_ + static_cast<std::int64_t>(used_); }

 private:
  ScratchFile& file_;
  std::array<std::uint8_t, 8192> buffer_;
  std::size_t used_ = 0;
  std::int64_t written_ = 0;
};

void merge_pieces(std::vector<RecordReader>& readers, RecordWriter& writer) {
  const auto is_later = [](const RecordReader* a, const RecordReader* b) { return a->record() > b->record(); };
  std::vector<RecordReader*> heap;
  for (RecordReader& reader : readers) {
    if (reader.advance()) heap.push_back(&reader);
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    writer.put(heap.back()->record());
    if (heap.back()->advance()) {
      std::push_heap(heap.begin(), heap.end(), is_later);
    } else {
      heap.pop_back();
    }
  }
}

}  // namespace

RecordSorter::RecordSorter(std::vector<std::string> scratch_folders, std::string purpose, SorterLimits limits)
    : folders_(std::move(scratch_folders)),
      purpose_(std::move(purpose)),
      limits_(limits),
      written_(folders_, purpose_) {
  ensure(limits.merged_at_once >= 2, "record sorter: merges ", limits.merged_at_once, " at once");
}

void RecordSorter::add(std::string_view record) {
  ensure(record.size() <= kMostRecordBytes, "record sorter: a record of ", record.size(), " bytes");
  const std::size_t bytes = kLengthBytes + record.size();
  if (!records_.empty() && bytes_.size() + bytes + records_.size() * sizeof(std::uint32_t) > limits_.piece_bytes) {
    write_piece();
  }
  records_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  bytes_.push_back(static_cast<char>(record.size() & 0xff));
  bytes_.push_back(static_cast<char>(record.size() >> 8));
  bytes_.append(record);
}

void RecordSorter::write_piece() {
  const auto record = [&](std::uint32_t place) { return record_at(bytes_.data() + place); };
  std::sort(records_.begin(), records_.end(), [&](std::uint32_t a, std::uint32_t b) { return record(a) < record(b); });
  RecordWriter writer(written_);
  for (const std::uint32_t place : records_) writer.put(record(place));
  const std::int64_t end = written_bytes_ + writer.flush();
  pieces_.push_back({written_bytes_, end});
  written_bytes_ = end;
  bytes_.clear();
  records_.clear();
}

void RecordSorter::merge() {
  const InputFile source = std::move(written_).finish();
  ScratchFile merged(folders_, purpose_);
  RecordWriter writer(merged);
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < pieces_.size(); first += limits_.merged_at_once) {
    const std::size_t end = std::min(first + limits_.merged_at_once, pieces_.size());
    std::vector<RecordReader> readers;
    readers.reserve(end - first);
    for (std::size_t i = first; i < end; ++i) readers.emplace_back(source, pieces_[i].begin, pieces_[i].end);
    const std::int64_t begin = writer.bytes();
    merge_pieces(readers, writer);
    pieces.push_back({begin, writer.bytes()});
  }
  writer.flush();
  written_ = std::move(merged);
  pieces_ = std::move(pieces);
}

InputFile RecordSorter::finish() && {
  if (!records_.empty()) write_piece();
  while (pieces_.size() > 1) merge();
  return std::move(written_).finish();
}

void RecordReader::fill(std::size_t wanted) {
  if (filled_ - at_ >= wanted) return;
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  filled_ -= at_;
  at_ = 0;
  const auto room = static_cast<std::int64_t>(buffer_.size() - filled_);
  const auto size = static_cast<std::size_t>(std::min(room, end_ - next_));
  file_->read_at(next_, {reinterpret_cast<std::uint8_t*>(buffer_.data()) + filled_, size});
  next_ += static_cast<std::int64_t>(size);
  filled_ += size;
  ensure(filled_ >= wanted, file_->path(), ": ends inside a record");
}

bool RecordReader::advance() {
  if (at_ == filled_ && next_ == end_) return false;
  fill(kLengthBytes);
  const std::size_t length = length_at(buffer_.data() + at_);
  fill(kLengthBytes + length);
  record_ = {buffer_.data() + at_ + kLengthBytes, length};
  record_offset_ = next_ - static_cast<std::int64_t>(filled_ - at_);
  at_ += kLengthBytes + length;
  return true;
}

}  // namespace thimble
