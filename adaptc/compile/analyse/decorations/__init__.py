"""What each image of a page is for: logo, story, content, decoration or advertisement, and why.

A build repeats only what changed, in three pure steps: ``evidence.image_evidence`` for each file,
``page_images.page_uses`` for each page, and ``labels.label_page``, which combines both with the counts of the site.
``labels.classify_site`` does all three for a whole site.
"""
