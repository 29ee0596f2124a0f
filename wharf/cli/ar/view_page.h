// ViewPage: what an AR client sees and does, as a page to move through frame by frame: one file that needs no other.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/scene/view/view.h"

namespace wharf::cli {

class ViewPage {
 public:
  ViewPage(std::string title, const std::vector<std::string>& tasks);
  // A frame that is shown; some 30 kB of page.
  void Add(const scene::ViewContent& content);
  // Every frame, shown or not: for the schedule.
  void Count(const scene::ViewContent& content);
  std::string Text() const;

 private:
  const std::string title_;
  int64_t count_ = 0;
  nlohmann::ordered_json frames_ = nlohmann::ordered_json::array(), tasks_ = nlohmann::ordered_json::array();
};

}  // namespace wharf::cli
