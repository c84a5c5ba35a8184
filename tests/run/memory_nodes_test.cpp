// Nodes of memory, as folders tell of them that look like the system's own; and that the system takes what it is told.
#include "run/memory_nodes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <sstream>

namespace thimble {
namespace {

namespace fs = std::filesystem;

class MemoryNodes : public ::testing::Test {
 protected:
  MemoryNodes() : root_(fs::path(::testing::TempDir()) / ("nodes_" + std::to_string(getpid()))) {}
  ~MemoryNodes() override { fs::remove_all(root_); }

  void write_node(int node, const std::string& processors) const {
    const fs::path folder = root_ / ("node" + std::to_string(node));
    fs::create_directories(folder);
    std::ofstream(folder / "cpulist") << processors;
  }
  NodeMask nodes_of_processors(std::initializer_list<int> processors) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(processor, &set);
    return nodes_of(set, root_);
  }

  fs::path root_;
};

TEST_F(MemoryNodes, AreThoseOfTheProcessorsInUse) {
  write_node(0, "0-1,4\n");
  write_node(1, "2-3\n");
  write_node(2, "\n");  // memory without processors
  write_node(5, "7,9-1023\n");
  EXPECT_EQ(nodes_of_processors({0}), 0b1U);
  EXPECT_EQ(nodes_of_processors({4}), 0b1U);
  EXPECT_EQ(nodes_of_processors({3}), 0b10U);
  EXPECT_EQ(nodes_of_processors({1, 2}), 0b11U);
  EXPECT_EQ(nodes_of_processors({0, 3, 100}), 0b100011U);
  EXPECT_EQ(nodes_of_processors({8}), 0U);
  EXPECT_EQ(nodes_of_processors({}), 0U);
}

TEST_F(MemoryNodes, AreNoneWhereNothingIsSaidOrUnderstood) {
  EXPECT_EQ(nodes_of_processors({0}), 0U);
  write_node(0, "all of them");
  write_node(1, "-");
  write_node(2, "3-");
  write_node(3, "99999999999");
  EXPECT_EQ(nodes_of_processors({0, 1, 2}), 0U);
}

TEST(DealtPages, AreKnownToTheSystem) {
  constexpr Bytes kBytes = 64 * kKiB;
  void* block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  if (!deal_pages(static_cast<std::byte*>(block), kBytes, 1)) {
    munmap(block, kBytes);
    GTEST_SKIP() << "this system lets nobody choose nodes of memory";
  }
  std::ostringstream address;
  address << std::hex << reinterpret_cast<std::uintptr_t>(block) << " interleave:0";
  std::ifstream maps("/proc/self/numa_maps");
  bool is_known = !maps;  // told, but not shown
  for (std::string line; std::getline(maps, line);) is_known = is_known || line.starts_with(address.str());
  munmap(block, kBytes);
  EXPECT_TRUE(is_known);
}

}  // namespace
}  // namespace thimble
