#include "train/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace thimble {
namespace {

constexpr std::size_t kNoteAlignment = 4;

std::size_t padded(std::size_t size) { return (size + kNoteAlignment - 1) / kNoteAlignment * kNoteAlignment; }

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// A segment of notes: header, name and description, each padded, one after another.
std::string find_in_notes(const unsigned char* at, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, at, sizeof(header));
    const std::size_t description = sizeof(header) + padded(header.n_namesz);
    const std::size_t length = description + padded(header.n_descsz);
    if (length > size) break;
    const bool is_gnu = header.n_namesz == 4 && std::memcmp(at + sizeof(header), "GNU", 4) == 0;
    if (is_gnu && header.n_type == NT_GNU_BUILD_ID) return hexadecimal(at + description, header.n_descsz);
    at += length;
    size -= length;
  }
  return "";
}

int visit_program(dl_phdr_info* info, std::size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
    auto& text = *static_cast<std::string*>(result);
    text = find_in_notes(notes, segment.p_filesz);
    if (!text.empty()) break;
  }
  return 1;  // the program itself comes first; its libraries are no concern of ours
}

}  // namespace

std::string build_id() {
  std::string text;
  dl_iterate_phdr(visit_program, &text);
  return text.empty() ? "unknown" : text;
}

}  // namespace thimble
