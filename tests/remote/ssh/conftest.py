from tests.remote.ssh.far_host import far_host

__all__ = ["far_host"]
