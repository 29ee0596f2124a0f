// The instructions of a checked kernel, for people.
#pragma once

#include <memory>

#include "wharf/device/soft/check/findings.h"

namespace wharf::device::soft {

struct Program;  // codegen/program.h

// By the number that its code tells (codegen/check.cc); those that access no memory are empty.
std::shared_ptr<const check::SiteTable> SitesOf(const Program& program);

}  // namespace wharf::device::soft
