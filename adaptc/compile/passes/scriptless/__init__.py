"""What a page needs so that it can be read and used without its scripts; ``remove_scripts`` puts it together."""
