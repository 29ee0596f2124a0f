#include "wharf/cudashim/validity/validity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace wharf::cudashim {
namespace {

std::string Written(const Md2Digest& answer) {
  std::string text;
  for (const uint8_t byte : answer) text += fmt::format("{:02x}", byte);
  return text;
}

ValidityQuestion Question() {
  ValidityQuestion question;
  question.driver_version = 13000;
  question.question = 13002;
  question.process = 4711;
  question.thread = 0x12345678;
  question.runtime_table = 0x7f0000001000;
  question.validity_table = 0x7f0000002000;
  question.function = 0x7f0000003000;
  question.seconds = 1700000000;
  return question;
}

std::vector<DeviceIdentity> Devices(size_t count) {
  std::vector<DeviceIdentity> devices(count);
  int32_t number = 0;
  uint8_t byte = 0;
  for (DeviceIdentity& device : devices) {
    for (uint8_t& part : device.uuid) part = byte++;
    for (int32_t* const part : {&device.pci_domain, &device.pci_bus, &device.pci_device}) *part = number++;
  }
  return devices;
}

TEST(Validity, TwoAnswersAreAlwaysTheSame) {
  ValidityQuestion question = Question();
  for (const uint32_t release : {1208u, 1290u, 1300u, 1305u}) {
    question.question = release * 10;
    EXPECT_EQ(Written(AnswerValidity(question, Devices(1))), "5c67cb031c184133e8d14c1faa83d38e");
    question.question = release * 10 + 1;
    EXPECT_EQ(Written(AnswerValidity(question, Devices(1))), "5c67cb031c184118e8d14c1faa83d38e");
  }
}

// Put together by hand and given to PyCryptodome. Whether NVIDIA's runtime accepts it is seen where programs with it
// run (tests/cuda, cuda.*_static).
TEST(Validity, TheThirdIsAKeyedHashOfWhoAsksWhom) {
  EXPECT_EQ(Written(AnswerValidity(Question(), Devices(1))), "78418b9c7441e4d22a563b67b773134f");
  EXPECT_EQ(Written(AnswerValidity(Question(), Devices(2))), "7ecc16ab3d82e7baaad805810f537a27");
}

TEST(Validity, DependsOnEveryPartOfTheQuestion) {
  std::set<std::string> answers = {Written(AnswerValidity(Question(), Devices(1)))};
  const auto add = [&](auto change) {
    ValidityQuestion question = Question();
    std::vector<DeviceIdentity> devices = Devices(1);
    change(question, devices[0]);
    answers.insert(Written(AnswerValidity(question, devices)));
  };
  add([](auto& question, auto&) { ++question.driver_version; });
  add([](auto& question, auto&) { ++question.question; });
  add([](auto& question, auto&) { ++question.process; });
  add([](auto& question, auto&) { ++question.thread; });
  add([](auto& question, auto&) { question.runtime_table += uint64_t{1} << 40; });
  add([](auto& question, auto&) { question.validity_table += uint64_t{1} << 40; });
  add([](auto& question, auto&) { question.function += uint64_t{1} << 40; });
  add([](auto& question, auto&) { question.seconds += uint64_t{1} << 40; });
  add([](auto&, auto& device) { ++device.uuid[15]; });
  add([](auto&, auto& device) { ++device.pci_domain; });
  add([](auto&, auto& device) { ++device.pci_bus; });
  add([](auto&, auto& device) { ++device.pci_device; });
  EXPECT_EQ(answers.size(), 13u);
}

}  // namespace
}  // namespace wharf::cudashim
