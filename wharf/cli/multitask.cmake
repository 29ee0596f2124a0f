# `wharf bench multitask`, of wharf-model.
find_package(Eigen3 REQUIRED)
wharf_room(cli_multitask SOURCES bench_multitask_report.cc bench_multitask_rows.cc
           DEPS wharf::multitask_experiment wharf::report PRIVATE_DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_multitask SOURCES bench_multitask_test.cc DEPS nlohmann_json::nlohmann_json)
target_sources(wharf_model PRIVATE bench_multitask.cc)
target_link_libraries(wharf_model PRIVATE wharf::cli_multitask wharf::perception)
if(TARGET wharf_cli_text_headers)  # which compiles all headers of this folder, these among them
  target_link_libraries(wharf_cli_text_headers PRIVATE Eigen3::Eigen)
endif()
