resource "opsconsole_host" "jump" {
  name         = "jump-north"
  public_ip    = "198.51.100.10"
  is_jump_host = true
  tags         = ["site:north", "role:jump"]
}

resource "opsconsole_host" "web" {
  name            = "web-north"
  private_ip      = "10.1.0.10"
  ip_connect_mode = "private"
  target_type     = "ssh"
  target_port     = 22
  jump_host_ids   = [opsconsole_host.jump.id]
  tags            = ["site:north", "role:web"]
}
