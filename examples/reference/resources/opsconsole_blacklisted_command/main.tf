resource "opsconsole_blacklisted_command" "format" {
  id          = "blk_format"
  pattern     = "mkfs*"
  description = "No file system is made here"
}

resource "opsconsole_blacklisted_command" "wipe" {
  id          = "blk_wipe"
  pattern     = "rm -rf /*"
  tenant_wide = true
}
