#include "wharf/link/discovery/announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/link/address.h"

namespace wharf::link {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string LineOf(const std::string& interface, const std::string& number, const std::string& port = "7070") {
  return "=;" + interface + ";IPv4;edge;_wharf._tcp;local;edge.local;" + number + ";" + port + ";";
}

std::string AddressOf(const std::string& line, std::string_view type = kServiceType) {
  const std::optional<Announcement> one = ParseAnnouncement(line, type);
  return one ? one->address : "";
}

// As avahi-browse 0.8 printed it.
TEST(AnnouncementTest, WhatAvahiPrintsIsRead) {
  const auto found = ParseAnnouncements(
      "+;w0;IPv4;Wharf\\059\\032on\\032\\034x\\034\\032\\195\\169;_wharf._tcp;local\n"
      "=;w0;IPv6;Wharf\\059\\032on\\032\\034x\\034\\032\\195\\169;_wharf._tcp;local;vm.local;fe80::f023:8aff:fe01:b1bd;"
      "7070;\"a=b;c\\\"d\"\n"
      "=;w0;IPv4;Wharf\\059\\032on\\032\\034x\\034\\032\\195\\169;_wharf._tcp;local;vm.local;10.99.0.1;7070;\"a=b\"\n"
      "=;lo;IPv4;a\\.b;_wharf._tcp;local;vm.local;127.0.0.1;7070;\n",
      kServiceType);
  EXPECT_THAT(found, ElementsAre(Announcement{"Wharf; on \"x\" \\195\\169", "[fe80::f023:8aff:fe01:b1bd%w0]:7070"},
                                 Announcement{"Wharf; on \"x\" \\195\\169", "10.99.0.1:7070"},
                                 Announcement{"a.b", "127.0.0.1:7070"}));
}

TEST(AnnouncementTest, OnlyResolvedServersOfOurKindCount) {
  EXPECT_EQ(AddressOf(LineOf("eth0", "192.0.2.7")), "192.0.2.7:7070");
  EXPECT_EQ(AddressOf("+" + LineOf("eth0", "192.0.2.7").substr(1)), "");
  EXPECT_EQ(AddressOf("-" + LineOf("eth0", "192.0.2.7").substr(1)), "");
  EXPECT_EQ(AddressOf("=;eth0;IPv4;edge;_ipp._tcp;local;edge.local;192.0.2.7;7070;"), "");
  const std::string ar = "=;eth0;IPv4;edge;_wharf-ar._tcp;local;edge.local;192.0.2.7;7072;";
  EXPECT_EQ(AddressOf(ar), "") << "another kind of Wharf's servers";
  EXPECT_EQ(AddressOf(ar, kArServiceType), "192.0.2.7:7072");
  EXPECT_EQ(AddressOf(LineOf("eth0", "192.0.2.7"), kArServiceType), "");
  EXPECT_EQ(AddressOf("=;eth0;IPv4;edge;_wharf._tcp;local;edge.local;192.0.2.7;7070"), "") << "it is cut";
}

TEST(AnnouncementTest, AddressesThatAreNoMachinesAreLeftOut) {
  for (const char* const number :
       {"", "0.0.0.0", "224.0.0.251", "255.255.255.255", "::", "ff02::fb", "::ffff:192.0.2.7", "::192.0.2.7", "edge",
        "192.0.2", "192.0.2.7 ", "192.0.2.007x", "1:2:3", "fe80::1%eth0"}) {
    EXPECT_EQ(AddressOf(LineOf("eth0", number)), "") << number;
  }
  EXPECT_EQ(AddressOf(LineOf("eth0", std::string("2001:db8::\0:7", 13))), "") << "a zero ends no number";
  for (const char* const port : {"", "0", "65536", "-1", "+1", "70 70", "7070x"}) {
    EXPECT_EQ(AddressOf(LineOf("eth0", "192.0.2.7", port)), "") << port;
  }
  EXPECT_EQ(AddressOf(LineOf("eth0", "2001:db8::7")), "[2001:db8::7]:7070");
}

TEST(AnnouncementTest, NobodyElseNamesAServiceOfThisMachine) {
  for (const char* const number : {"127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_EQ(AddressOf(LineOf("wlan0", number)), "") << number;
    EXPECT_NE(AddressOf(LineOf("lo", number)), "") << number;
  }
}

TEST(AnnouncementTest, NamesHoldNothingThatATerminalObeys) {
  const auto name_of = [](const std::string& name) {
    const auto one =
        ParseAnnouncement("=;eth0;IPv4;" + name + ";_wharf._tcp;local;edge.local;192.0.2.7;7070;", kServiceType);
    return one ? one->name : "none";
  };
  EXPECT_EQ(name_of("\\027\\0912J"), "\\027[2J");
  EXPECT_EQ(name_of("a\\010b\\127\\194\\155"), "a\\010b\\127\\194\\155");
  EXPECT_EQ(name_of("a\\\\b\\092"), "a\\092b\\092") << "so that two names are never the same";
  EXPECT_EQ(name_of("a\x1b[2J"), "none");
  EXPECT_EQ(name_of("a\\"), "none");
  EXPECT_EQ(name_of("a\\999"), "none");
  EXPECT_EQ(name_of(""), "none");
  EXPECT_EQ(name_of(std::string(253, 'a')), "none");
  EXPECT_EQ(name_of(std::string(252, 'a')), std::string(252, 'a'));
}

// `%` and what is behind it go into an address.
TEST(AnnouncementTest, InterfacesAreNames) {
  EXPECT_EQ(AddressOf(LineOf("wlp0s20f3", "fe80::1")), "[fe80::1%wlp0s20f3]:7070");
  for (const char* const interface : {"", "a]:1,b", "eth0%eth1", "sixteen-letters0", "a b"}) {
    EXPECT_EQ(AddressOf(LineOf(interface, "fe80::1")), "") << interface;
  }
}

TEST(AnnouncementTest, AFloodCostsNoMoreThanItsBeginning) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += LineOf("eth0", "192.0.2." + std::to_string(i % 250)) + "\n";
  EXPECT_THAT(ParseAnnouncements(lines, kServiceType), SizeIs(kMostAnnouncements));
  EXPECT_THAT(
      ParseAnnouncements(LineOf("eth0", "192.0.2.7") + "\n" + LineOf("wlan0", "192.0.2.7") + "\n", kServiceType),
      SizeIs(1));
  EXPECT_THAT(ParseAnnouncements("", kServiceType), IsEmpty());
  EXPECT_THAT(ParseAnnouncements("\n\n;;;\n", kServiceType), IsEmpty());
}

TEST(AnnouncementTest, AddressesAreWhatConnectTakes) {
  for (const char* const number : {"192.0.2.7", "2001:db8::7", "fe80::1"}) {
    const auto parsed = ParseAddress(AddressOf(LineOf("lo", number)));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->port, "7070");
    EXPECT_TRUE(Resolve(*parsed, false).ok()) << number;
  }
}

}  // namespace
}  // namespace wharf::link
