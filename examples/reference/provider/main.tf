terraform {
  required_providers {
    opsconsole = {
      source = "opsconsole/opsconsole"
    }
  }
}

# The key comes from OPSCONSOLE_API_KEY, so that it is in no file.
provider "opsconsole" {
  base_url = "https://console.example.com"
  org_id   = "org_main"
}

provider "opsconsole" {
  alias            = "lab"
  base_url         = "https://lab.example.com"
  on_existing_host = "adopt"
  extra_endpoints = {
    host_get = "GET /api/v1/hosts/{id}"
  }
}
