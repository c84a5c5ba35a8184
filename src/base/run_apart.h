// Runs a function in a thread of its own and waits for it: what a heap keeps at hand for a thread goes back when the
// thread ends. Where the system grants no thread, here and now.
#pragma once

#include <future>

namespace thimble {

template <typename Function>
auto run_apart(Function&& function) {
  return std::async(std::launch::async | std::launch::deferred, function).get();
}

}  // namespace thimble
