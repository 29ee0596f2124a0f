// What is to be said of an inference, for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "wharf/split/runtime/client.h"

namespace wharf::cli {

// Of the session's last Run: how long it took and was planned to take, for how long device, server and link were busy,
// bytes that travelled, and of every operator [name, rows, rows by the device, rows by the server], as planned; all by
// the device if it computed alone. May wait for what the server says, as SplitClient::MeasuredEvents.
nlohmann::json ReportAsJson(split::SplitClient& session);

}  // namespace wharf::cli
