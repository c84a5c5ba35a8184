// The front as a drawing: process memory against predicted time. One circle a lossless point, one diamond a point that
// changes the result; each tells its command when pointed at. Readable on light and dark pages.
#pragma once

#include <string>

#include "report/front_report.h"

namespace thimble {

std::string front_svg(const FrontReport& report);

}  // namespace thimble
