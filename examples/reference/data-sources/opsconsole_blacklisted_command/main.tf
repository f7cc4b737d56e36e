data "opsconsole_blacklisted_command" "shutdown" {
  id = "blk_shutdown"
}

output "shutdown" {
  value = data.opsconsole_blacklisted_command.shutdown.pattern
}
