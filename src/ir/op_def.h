// Everything the rest of the compiler may ask about an op. An op is one file in ops/ that defines one OpDef; consumers
// ask, they never keep lists of ops of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "base/call.h"
#include "base/type.h"

namespace thimble {

class GradBuilder;

// The types and attributes of one use of an op. `out` is empty while types are being inferred.
struct OpQuery {
  std::span<const Type> in;
  std::span<const Type> out;
  const Attributes* attributes = nullptr;

  std::int64_t integer(std::string_view name) const { return attributes->integer(name); }
  double number(std::string_view name) const { return attributes->number(name); }
  const std::string& word(std::string_view name) const { return attributes->word(name); }
};

enum class AttributeKind : std::uint8_t { integer, number, word };

struct AttributeDef {
  std::string_view name;
  AttributeKind kind = AttributeKind::integer;
  std::string_view fallback = {};  // the default as text; empty: the attribute must be given
};

// One way to differentiate an op. What backward keeps is never declared: the rule builds nodes that read g.in(k) or
// g.out(k), and the liveness of those reads is the saved set.
struct GradientRule {
  std::string_view name;  // "from_output", "from_input", ...
  void (*build)(GradBuilder&) = nullptr;
};

// A pair whose output this use of the op does not have is void (sparse_update has as many outputs as its rule).
struct InPlacePair {
  int output = 0;
  int input = 0;
};

// A small use of the op for the generic tests: input types and attributes. Floating inputs are f32 here; tests vary the
// dtype.
struct Example {
  std::vector<Type> in;
  Attributes attributes;
};

struct OpDef {
  std::string_view name;
  std::string_view formula;  // one line of mathematics
  std::span<const AttributeDef> attributes = {};
  std::vector<Type> (*infer)(const OpQuery&) =
      nullptr;                                   // output types, or a UserError that names what was found and wanted
  std::span<const GradientRule> gradients = {};  // first is the default; empty: no gradient flows through this op
  std::span<const InPlacePair> in_place = {};    // the output may overwrite the input, element for element
  bool is_view = false;                          // output 0 is input 0's memory under another shape
  bool is_update = false;  // every in_place pair is compulsory: the output is the next version of a persistent input
  bool never_kept =
      false;  // output 0 is an unpacked form of a persistent input: made anew for every reader, never kept
  bool batch_coupled = false;  // samples influence each other: microbatching changes the result
  bool is_random =
      false;  // draws numbers keyed by seed, iteration, the attribute 'key' and the sample's place in the batch
  bool ends_first_pass = false;  // joins all gradients, so that the updates behind it come after every one was made:
                                 // until then a gradient is kept, or it is made again
  double (*flops)(const OpQuery&) = nullptr;
  // Plain loops, accumulation in double; judge of every kernel and fallback where no kernel serves.
  void (*reference)(const OpQuery&, const Call&) noexcept = nullptr;
  std::vector<Example> (*examples)() = nullptr;
};

using OpTable = std::span<const OpDef* const>;  // sorted by name

const OpDef* find_op(OpTable table, std::string_view name);  // nullptr if there is none

// The given attributes checked against the op's definition, defaults filled in. UserError for unknown or missing names.
Attributes complete_attributes(const OpDef& op, const Attributes& given);

}  // namespace thimble
