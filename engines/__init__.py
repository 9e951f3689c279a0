"""The engines that come with Skynet; plugins like anyone's, found under the entry-point group `skynet.engines`."""
