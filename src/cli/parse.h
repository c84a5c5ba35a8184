// The command line, word by word. Knows the table of options, nothing of what they mean.
#pragma once

#include <span>
#include <string>

#include "cli/verbs.h"

namespace thimble::cli {

// `words` follow the verb. UserError names the word that is not understood and the nearest option.
Arguments parse_words(const VerbDef& verb, std::span<const char* const> words);

}  // namespace thimble::cli
