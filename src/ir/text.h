// Graphs as text that people read, tests compare and the parser reads back: one line a source, one line a node.
//
//   input x : f32[2,8,8,3]
//   parameter conv.weight : f32[3,3,3,16]
//   conv, conv.1 : f32[2,4,4,16], u8[2,4,4,16] = op_name(x, conv.weight) {kernel=2, word="2,3", rate=0.5}   # a comment
//   gradient dx : f32[2,8,8,3] = op_name(dy) {height=8, width=8}
//
// A role word holds for the names after it up to the next role word; a node's first output is an activation where none
// is given. Names are letters, digits and . _ / - '. Attributes at their default are left out. A pooled value names its
// pool and slot: f32[1000]pooled(weights:3).
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace thimble {

// Every value stands after what it is made from, in the order of ids where data allows it. For a graph whose nodes only
// read values with lower ids, parse_graph gives back the same ids, names, types, roles and attributes; always, printing
// that gives the same text.
std::string to_text(const Graph& graph);

// The text may be hostile: a UserError names the line. Types of node outputs are checked against what the op infers.
Graph parse_graph(std::string_view text, OpTable ops);

}  // namespace thimble
