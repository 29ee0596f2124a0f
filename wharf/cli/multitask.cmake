# `wharf bench multitask`, of wharf-model.
find_package(Eigen3 REQUIRED)
wharf_room(cli_multitask SOURCES bench_multitask_kept.cc bench_multitask_report.cc bench_multitask_rows.cc
           DEPS wharf::multitask_experiment wharf::report PRIVATE_DEPS wharf::cli_text nlohmann_json::nlohmann_json)
wharf_test(cli_multitask SOURCES bench_multitask_test.cc DEPS wharf::cli_text nlohmann_json::nlohmann_json)
target_sources(wharf_model PRIVATE bench_multitask.cc)
target_link_libraries(wharf_model PRIVATE wharf::cli_multitask wharf::perception)
# Every room of this folder compiles all of its headers, these among them.
get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER targets INCLUDE REGEX "_headers$")
foreach(target ${targets})
  target_link_libraries(${target} PRIVATE Eigen3::Eigen)
endforeach()
